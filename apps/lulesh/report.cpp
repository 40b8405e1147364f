#include "apps/lulesh/report.hpp"

#include <cinttypes>
#include <cstdio>

namespace pinstudy::lulesh {
namespace {

void print_value(const char* name, double value) {
    std::printf(" %s=%.15e", name, value);
}

void print_at(const char* field, Index number, double value) {
    std::printf(" %s[%" PRId32 "]=%.15e", field, number, value);
}

}  // namespace

void print_header(const Settings& settings, int threads) {
    const auto edge = settings.edge;
    std::printf("Running problem size %" PRId64 "^3 per domain until completion\n", edge);
    std::printf("Num processors: 1\n");
#ifdef _OPENMP
    std::printf("Num threads: %d\n", threads);
#else
    static_cast<void>(threads);
#endif
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

void print_trace(const Domain& domain) {
    const Elements& elements = domain.elements;
    const Nodes& nodes = domain.nodes;
    const Clock& clock = domain.clock;
    std::printf("trace cycle=%" PRId64, clock.cycle);
    print_value("time", clock.time);
    print_value("dt", clock.dt);
    print_value("dtcourant", clock.dtcourant);
    print_value("dthydro", clock.dthydro);
    // The element at the origin, its neighbours along x, in the plane and in space.
    const Index edge = domain.mesh.edge;
    const Index plane = edge + 1;
    for (const Index element : {0, 1, plane, edge * edge + plane}) {
        if (element >= domain.mesh.element_count) {
            break;
        }
        print_at("e", element, elements.e[element]);
        print_at("p", element, elements.p[element]);
        print_at("q", element, elements.q[element]);
        print_at("ql", element, elements.ql[element]);
        print_at("qq", element, elements.qq[element]);
        print_at("v", element, elements.v[element]);
        print_at("ss", element, elements.ss[element]);
        print_at("vdov", element, elements.vdov[element]);
        print_at("arealg", element, elements.arealg[element]);
    }
    const Index node = (edge + 1) * (edge + 1) + edge + 2;  // one step along x, y and z
    print_at("x", node, nodes.x[node]);
    print_at("xd", node, nodes.xd[node]);
    print_at("fx", node, nodes.fx[node]);
    print_at("mass", node, nodes.mass[node]);
    std::printf("\n");
}

}  // namespace pinstudy::lulesh
