"""Makes the fleet's data: weather, plants, faults, file. Needs the `data` extra; serving does not.

`python -P -m turnstream.tools.solar.build` writes `tools/solar/fleet.sqlite` and the truth for the
tests; with `--check` it makes both again and compares them with what is there.
"""
