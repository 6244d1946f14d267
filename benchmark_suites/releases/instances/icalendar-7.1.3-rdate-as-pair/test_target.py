from datetime import date

from icalendar import Event


def test_date_in_the_form_that_rdates_gives_back():
    event = Event()
    event.add("RDATE", (date(2024, 2, 29), None))
    assert event.rdates == [(date(2024, 2, 29), None)]
