from icalendar import Calendar, Timezone


def test_timezone_that_no_event_uses_is_not_missing():
    calendar = Calendar()
    zone = Timezone()
    zone.add("TZID", "Atlantic/Nowhere")
    calendar.add_component(zone)
    assert calendar.get_missing_tzids() == set()
