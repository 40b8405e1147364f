"""`pinstudy apps`: the programs that can be studied."""

from __future__ import annotations

import click

from pinstudy.options import JSON
from pinstudy.output import print_columns, print_json, say


@click.command("apps")
@JSON
def command(as_json: bool) -> None:
    """List the programs that can be studied: their variants, sizes, and whether they are built."""
    from configs.library import list_apps
    from runners.host.software import find_program

    apps = list_apps()
    found = {
        variant.program: find_program(variant.program)
        for app in apps
        for variant in app.variants.values()
    }
    if as_json:
        print_json(
            [
                {
                    "name": app.name,
                    "title": app.title,
                    "variants": {
                        name: {"program": str(found[v.program] or ""), "runtime": v.runtime}
                        for name, v in app.variants.items()
                    },
                    "sizes": {name: list(size.arguments) for name, size in app.sizes.items()},
                    "metrics": {metric.name: metric.unit for metric in app.metrics},
                }
                for app in apps
            ]
        )
        return
    for app in apps:
        say(f"{app.name}: {app.title}")
        print_columns(
            (f"variant {name}", v.runtime, str(found[v.program] or f"not found: {v.program}"))
            for name, v in app.variants.items()
        )
        print_columns(
            (f"size {name}", " ".join(size.arguments)) for name, size in app.sizes.items()
        )
    say("A program is added by one YAML file; see docs/apps.md.")
