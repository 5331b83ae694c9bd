"""Makes the fleet's data: weather, plants, faults, file. Needs the `data` extra; serving does not.

`python -m tools.solar.build` writes `tools/solar/fleet.sqlite` and the truth for the tests,
`python -m tools.solar.build --check` makes both again and compares them with what is there.
"""
