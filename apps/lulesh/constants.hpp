// The numbers that define the Sedov problem and its numerical method (LLNL-TR-490254,
// LLNL-TR-641973). Units are those of the problem: they are consistent, and nothing converts them.
#pragma once

namespace pinstudy::lulesh {

// The problem: one octant of a blast wave, the blast at the origin.
inline constexpr double kDomainEdge = 1.125;             // the cube [0, 1.125]^3
inline constexpr double kDepositedEnergy = 3.948746e+7;  // e[0] of a mesh of 45^3 elements
inline constexpr double kDepositedEnergyEdge = 45.0;     // ... scaled by (edge / 45)^3
inline constexpr double kReferenceDensity = 1.0;         // refdens
inline constexpr double kStopTime = 1.0e-2;

// The time step.
inline constexpr double kLargestStep = 1.0e-2;    // dtmax
inline constexpr double kKeepStepBelow = 1.1;     // deltatimemultlb: growth below it is not taken
inline constexpr double kLargestGrowth = 1.2;     // deltatimemultub
inline constexpr double kNoConstraint = 1.0e+20;  // dtcourant and dthydro when nothing limits
inline constexpr double kVolumeChange = 0.1;      // dvovmax: relative volume change in a step
inline constexpr double kCourantViscosity = 2.0;  // qqc, the q term of the Courant condition

// Cut-offs: smaller magnitudes become 0 (relative volumes this near to 1 become 1).
inline constexpr double kVelocityCut = 1.0e-7;   // u_cut
inline constexpr double kEnergyCut = 1.0e-7;     // e_cut
inline constexpr double kPressureCut = 1.0e-7;   // p_cut
inline constexpr double kViscosityCut = 1.0e-7;  // q_cut
inline constexpr double kVolumeCut = 1.0e-10;    // v_cut

// Hourglass control (Flanagan and Belytschko 1981).
inline constexpr double kHourglass = 3.0 * 0.01;  // hgcoef, in hundredths

// Artificial viscosity with a monotonic limiter (Christensen 1991).
inline constexpr double kLimiterMultiplier = 2.0;         // monoq_limiter_mult
inline constexpr double kLimiterMaximum = 1.0;            // monoq_max_slope
inline constexpr double kLinearViscosity = 0.5;           // qlc_monoq
inline constexpr double kQuadraticViscosity = 2.0 / 3.0;  // qqc_monoq
inline constexpr double kViscosityStop = 1.0e+12;         // qstop: a run stops beyond it
inline constexpr double kTiny = 1.0e-36;                  // ptiny: keeps denominators off 0

// The equation of state of an ideal gas with gamma = 5/3: p = (gamma - 1) (mu + 1) e, where
// mu + 1 is the reciprocal of the relative volume.
inline constexpr double kGammaMinusOne = 2.0 / 3.0;
inline constexpr double kLowestVolume = 1.0e-9;                 // eosvmin
inline constexpr double kHighestVolume = 1.0e+9;                // eosvmax
inline constexpr double kLowestPressure = 0.0;                  // pmin
inline constexpr double kLowestEnergy = -1.0e+15;               // emin
inline constexpr double kSoundSpeedFloor = 3.333333e-19;        // the sound speed where its
inline constexpr double kSoundSpeedSquareFloor = 1.111111e-37;  // ... square is not above this

}  // namespace pinstudy::lulesh
