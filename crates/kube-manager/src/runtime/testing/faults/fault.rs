//! The faults that are tried, one in each run.

use std::fmt::{self, Display, Formatter};

use super::call::{Call, Collection};

/// A fault, and when it happens.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// At a write of the operator: the `nth` request that equals `call`, from 1.
    Write {
        call: Call,
        nth: usize,
        how: WriteFault,
    },
    /// At the `nth` event of the watches of `collection`, from 1.
    Event {
        collection: Collection,
        nth: usize,
        how: EventFault,
    },
    /// At the first list of `collection` after the operator was killed by a write that was stored.
    List {
        call: Call,
        nth: usize,
        collection: Collection,
        how: ListFault,
    },
}

/// What happens to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFault {
    /// The operator is killed before the request is sent.
    CrashBefore,
    /// The operator is killed after the request was processed, and before the answer arrives.
    CrashAfter,
    /// The request is processed, and the connection ends before the answer arrives.
    Cut,
    Conflict,
    Overload,
    InternalError,
    /// An admission webhook refuses the request.
    Refusal,
    /// The operator loses its lease, and the request arrives only after the next leader has finished its work.
    Late,
}

/// What happens to the events of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventFault {
    /// This event and all that follow arrive only when the operator sends no more requests.
    Delay,
    /// Of this event and all that follow until the operator sends no more requests, only the last one of each object
    /// arrives.
    Skip,
    /// The watch ends after this event.
    End,
    /// The watch expires before this event.
    Expire,
}

/// What a list returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListFault {
    /// The state before the write that killed the operator. The changes since then arrive when the operator sends no more
    /// requests.
    Earlier,
    /// No objects, once.
    Empty,
}

impl WriteFault {
    pub const ALL: [Self; 8] = [
        Self::CrashBefore,
        Self::CrashAfter,
        Self::Cut,
        Self::Conflict,
        Self::Overload,
        Self::InternalError,
        Self::Refusal,
        Self::Late,
    ];

    /// The status code and the reason of the answer that takes the place of the API server's.
    pub fn answer(self) -> Option<(u16, &'static str)> {
        match self {
            Self::Conflict => Some((409, "Conflict")),
            Self::Overload => Some((429, "TooManyRequests")),
            Self::InternalError => Some((500, "InternalError")),
            Self::Refusal => Some((403, "Forbidden")),
            Self::CrashBefore | Self::CrashAfter | Self::Cut | Self::Late => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::CrashBefore => "crash-before",
            Self::CrashAfter => "crash-after",
            Self::Cut => "cut",
            Self::Conflict => "conflict",
            Self::Overload => "overload",
            Self::InternalError => "internal-error",
            Self::Refusal => "refusal",
            Self::Late => "late",
        }
    }
}

impl EventFault {
    pub const ALL: [Self; 4] = [Self::Delay, Self::Skip, Self::End, Self::Expire];

    fn name(self) -> &'static str {
        match self {
            Self::Delay => "delay",
            Self::Skip => "skip",
            Self::End => "end",
            Self::Expire => "expire",
        }
    }
}

impl ListFault {
    pub const ALL: [Self; 2] = [Self::Earlier, Self::Empty];

    fn name(self) -> &'static str {
        match self {
            Self::Earlier => "earlier-list",
            Self::Empty => "empty-list",
        }
    }
}

impl Fault {
    /// A name without spaces: the value of the variable `FAULTS` that repeats the run.
    pub fn name(&self) -> String {
        let name = match self {
            Self::Write { call, nth, how } => format!("{}:{call}:{nth}", how.name()),
            Self::Event {
                collection,
                nth,
                how,
            } => format!("{}:{collection}:{nth}", how.name()),
            Self::List {
                call,
                nth,
                collection,
                how,
            } => format!("{}:{collection}:{call}:{nth}", how.name()),
        };
        name.replace(' ', ":")
    }
}

/// `1st`, `2nd`, `3rd`, `4th`, `11th`.
struct Ordinal(usize);

impl Display for Ordinal {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let end = match (self.0 % 10, self.0 % 100) {
            (1, tens) if tens != 11 => "st",
            (2, tens) if tens != 12 => "nd",
            (3, tens) if tens != 13 => "rd",
            _ => "th",
        };
        write!(to, "{}{end}", self.0)
    }
}

/// A sentence without its period.
impl Display for Fault {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write { call, nth, how } => {
                let what = match how {
                    WriteFault::CrashBefore => "the operator was killed before it sent",
                    WriteFault::CrashAfter => "the operator was killed before it got the answer to",
                    WriteFault::Cut => "the connection ended after the API server had processed",
                    WriteFault::Conflict => "the API server answered with 409 Conflict to",
                    WriteFault::Overload => "the API server answered with 429 Too Many Requests to",
                    WriteFault::InternalError => "the API server answered with 500 to",
                    WriteFault::Refusal => "an admission webhook refused",
                    WriteFault::Late => {
                        "the operator lost its lease, and after the work of the next leader arrived"
                    }
                };
                write!(to, "{what} its {} request {call}", Ordinal(*nth))
            }
            Self::Event {
                collection,
                nth,
                how,
            } => {
                let what = match how {
                    EventFault::Delay => "events were late from",
                    EventFault::Skip => "intermediate events were lost from",
                    EventFault::End => "the watch ended after",
                    EventFault::Expire => "the watch expired before",
                };
                write!(to, "{what} the {} event of {collection}", Ordinal(*nth))
            }
            Self::List {
                call,
                nth,
                collection,
                how,
            } => {
                let what = match how {
                    ListFault::Earlier => "the state from before this request",
                    ListFault::Empty => "no objects, once",
                };
                write!(
                    to,
                    "the operator was killed after its {} request {call}, and then the list of {collection} had {what}",
                    Ordinal(*nth)
                )
            }
        }
    }
}
