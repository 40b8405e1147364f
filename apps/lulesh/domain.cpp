#include "apps/lulesh/domain.hpp"

#include "apps/lulesh/team.hpp"

namespace pinstudy::lulesh {

Domain::Domain(Index edge, const RegionOptions& options)
    : mesh(edge), regions(assign_regions(mesh.elements, options), options), fields(mesh) {
    on_every_thread([this](const Team& team) {
        const Range blocks = share(mesh.blocks, team);
        const Range nodes = share(mesh.nodes, team);
        mesh.connect_elements(blocks);
        mesh.connect_nodes(nodes);
        fields.fill_nodes(mesh, nodes);
        barrier();
        fields.fill_elements(mesh, blocks);
        barrier();
        fields.fill_node_masses(mesh, nodes);
        if (team.rank == team.size - 1) {
            fields.fill_outside(mesh);
        }
    });
    clock = clock_at_start(fields.volo[0], fields.e[0]);
}

}  // namespace pinstudy::lulesh
