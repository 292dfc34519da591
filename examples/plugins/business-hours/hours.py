"""Business hours in local time.

A component has no time zone database, so a zone is a UTC offset and a rule for summer time.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from typing import Literal

Weekday = Literal["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
SummerTime = Literal["none", "eu", "us"]
WEEKDAYS: tuple[Weekday, ...] = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
HOUR = timedelta(hours=1)
WEEK = timedelta(weeks=1)


@dataclass(frozen=True)
class Hours:
    """Daily hours on some days of the week. Hours past midnight belong to the day they begin on."""

    text: str
    opens: timedelta  # since midnight
    closes: timedelta
    days: tuple[Weekday, ...]
    utc_offset: timedelta
    summer_time: SummerTime

    @classmethod
    def parse(cls, hours: str, days: tuple[Weekday, ...], utc_offset: str, summer_time: SummerTime) -> "Hours":
        """`Hours.parse("08:00-18:00", ("Mon", "Tue"), "+01:00", "eu")`; a ValueError names the invalid field."""
        opens, dash, closes = hours.partition("-")
        if not dash:
            raise ValueError(f'hours: expected hours such as 08:00-18:00, got "{hours}"')
        if not days:
            raise ValueError("days: expected at least one")
        if utc_offset[:1] not in ("+", "-"):
            raise ValueError(f'utcOffset: expected an offset such as +01:00, got "{utc_offset}"')
        offset = _time_of_day(utc_offset[1:], "utcOffset")
        return cls(
            text=f"{'/'.join(days)} {hours} UTC{utc_offset}",
            opens=_time_of_day(opens, "hours"),
            closes=_time_of_day(closes, "hours"),
            days=days,
            utc_offset=-offset if utc_offset[0] == "-" else offset,
            summer_time=summer_time,
        )

    def include(self, moment: datetime) -> bool:
        local = self.local(moment)
        of_day = timedelta(hours=local.hour, minutes=local.minute)
        today, yesterday = (WEEKDAYS[(local.weekday() - back) % 7] in self.days for back in (0, 1))
        if self.opens < self.closes:
            return today and self.opens <= of_day < self.closes
        return (today and of_day >= self.opens) or (yesterday and of_day < self.closes)

    def local(self, moment: datetime) -> datetime:
        """Local time, without a time zone."""
        standard = moment.astimezone(timezone(self.utc_offset)).replace(tzinfo=None)
        if self.summer_time == "us":  # both changes are at 2:00 local time
            begin = _first_sunday(standard.year, 3) + WEEK + 2 * HOUR
            end = _first_sunday(standard.year, 11) + HOUR
        elif self.summer_time == "eu":  # both changes are at 1:00 UTC
            begin = _first_sunday(standard.year, 4) - WEEK + HOUR + self.utc_offset
            end = _first_sunday(standard.year, 11) - WEEK + HOUR + self.utc_offset
        else:
            return standard
        return standard + HOUR if begin <= standard < end else standard

    def __str__(self) -> str:
        return self.text


def _time_of_day(text: str, field: str) -> timedelta:
    found = re.fullmatch(r"([01]\d|2[0-3]):([0-5]\d)", text)
    if found is None:
        raise ValueError(f'{field}: expected a time such as 08:00, got "{text}"')
    return timedelta(hours=int(found[1]), minutes=int(found[2]))


def _first_sunday(year: int, month: int) -> datetime:
    first = date(year, month, 1)
    return datetime.combine(first + timedelta(days=6 - first.weekday()), time())
