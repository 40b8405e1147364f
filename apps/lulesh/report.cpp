#include "apps/lulesh/report.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "apps/lulesh/node_access.hpp"

namespace pinstudy::lulesh {
namespace {

void print_value(const char* name, double value) {
    std::printf(" %s=%.15e", name, value);
}

void print_at(const char* field, Index number, double value) {
    std::printf(" %s[%" PRId32 "]=%.15e", field, number, value);
}

// The artificial viscosity terms, which live in registers during the run.
void print_viscosity_terms(const Domain& domain, Index element) {
    Index elements[kLanes];
    std::fill(elements, elements + kLanes, element);
    const ArtificialViscosity terms =
        viscosity_of(domain.mesh, domain.fields, ElementGroup(elements));
    print_at("ql", element, terms.linear[0]);
    print_at("qq", element, terms.quadratic[0]);
}

}  // namespace

void print_header(const Settings& settings, int threads) {
    const auto edge = settings.edge;
    std::printf("Running problem size %" PRId64 "^3 per domain until completion\n", edge);
    std::printf("Num processors: 1\n");
    if (threads > 0) {
        std::printf("Num threads: %d\n", threads);
    }
    std::printf("Total number of elements: %" PRId64 " \n\n", edge * edge * edge);
    std::printf(
        "To choose another size, use -s <edge>.\n"
        "To stop after some cycles, use -i <cycles>.\n"
        "To make the regions more or less equal in size, use -b <exponent>.\n"
        "To make some regions more or less expensive, use -c <cost>.\n"
        "To see the progress, use -p\n"
        "To write files for visualisation (-v), use another program.\n"
        "See help (-h) for more options\n\n");
    std::fflush(stdout);
}

void print_cycle(const Clock& clock) {
    std::printf("cycle = %" PRId64 ", time = %e, dt=%e\n", clock.cycle, clock.time, clock.dt);
}

void print_results(const Summary& summary, double seconds) {
    std::printf("Run completed:\n");
    std::printf("   Problem size        =  %" PRId32 "\n", summary.edge);
    std::printf("   MPI tasks           =  1\n");
    std::printf("   Iteration count     =  %" PRId64 "\n", summary.cycles);
    std::printf("   Final Origin Energy =  %12.6e\n", summary.origin_energy);
    std::printf("   Testing Plane 0 of Energy Array on rank 0:\n");
    std::printf("        MaxAbsDiff   = %12.6e\n", summary.symmetry.largest);
    std::printf("        TotalAbsDiff = %12.6e\n", summary.symmetry.total);
    std::printf("        MaxRelDiff   = %12.6e\n\n", summary.symmetry.largest_relative);

    const double edge = summary.edge;
    const double element_cycles = edge * edge * edge * static_cast<double>(summary.cycles);
    // "overall" has been the elapsed time since version 2.0.3, and the figure of merit has always
    // been in thousands of elements a second, whatever the labels say.
    const double grind_time = seconds * 1.0e6 / element_cycles;
    std::printf("Elapsed time         = %10.2g (s)\n", seconds);
    std::printf("Grind time (us/z/c)  = %10.8g (per dom)  (%10.8g overall)\n", grind_time, seconds);
    std::printf("FOM                  = %10.8g (z/s)\n\n", 1000.0 / grind_time);
}

void Trace::print(const Domain& domain, const Clock& clock) {
    const Fields& fields = domain.fields;
    const Index edge = domain.mesh.edge;
    std::printf("trace cycle=%" PRId64, clock.cycle);
    print_value("time", clock.time);
    print_value("dt", clock.dt);
    print_value("dtcourant", clock.dtcourant);
    print_value("dthydro", clock.dthydro);
    // The element at the origin, its neighbours along x, in the plane and in space.
    const Index plane = edge + 1;
    for (const Index element : {0, 1, plane, edge * edge + plane}) {
        if (element >= domain.mesh.elements) {
            break;
        }
        const auto i = static_cast<std::size_t>(element);
        print_at("e", element, fields.e[i]);
        print_at("p", element, fields.p[i]);
        print_at("q", element, fields.q[i]);
        print_at("v", element, fields.v[i]);
        print_at("ss", element, fields.ss[i]);
        print_at("vdov", element, fields.vdov[i]);
        print_at("arealg", element, fields.arealg[i]);
        print_viscosity_terms(domain, element);
    }
    const Index node = (edge + 1) * (edge + 1) + edge + 2;  // one step along x, y and z
    const double velocity = node_place(fields.u.data(), node)[0];
    const double mass = fields.mass[static_cast<std::size_t>(node)];
    print_at("x", node, node_place(fields.x.data(), node)[0]);
    print_at("xd", node, velocity);
    print_at("fx", node, mass * (velocity - last_velocity_) / clock.dt);
    print_at("mass", node, mass);
    std::printf("\n");
    last_velocity_ = velocity;
}

}  // namespace pinstudy::lulesh
