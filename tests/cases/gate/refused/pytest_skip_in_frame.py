# refused: HC133 dangerous
# ends the test instead of healing it
pytest.skip('x')
