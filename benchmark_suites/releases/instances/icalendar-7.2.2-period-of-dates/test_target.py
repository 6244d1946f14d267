from icalendar import Event

TEXT = b"BEGIN:VEVENT\r\nUID:1\r\nRDATE;VALUE=PERIOD:20240501/20240503\r\nEND:VEVENT\r\n"


def test_period_that_is_written_with_dates():
    written = Event.from_ical(TEXT).to_ical().decode()
    assert "20240501T000000/20240503T000000" in written
