//! A BMC has one machine or more. What there is once for each of them is kept here, so that there is
//! always a first and nobody has to count.

/// Which of the machines of one BMC. It is only valid for that BMC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(usize);

impl Slot {
    /// The first one: the only one of most BMCs, and the one that IPMI reaches.
    pub(crate) const FIRST: Self = Self(0);
}

/// One thing for each machine.
#[derive(Debug)]
pub(crate) struct PerMachine<T> {
    first: T,
    others: Vec<T>,
}

impl<T> PerMachine<T> {
    pub(crate) fn new(first: T, others: Vec<T>) -> Self {
        Self { first, others }
    }

    /// What belongs to this machine; to the first, where there is none such.
    pub(crate) fn get(&self, slot: Slot) -> &T {
        let other = slot.0.checked_sub(1).and_then(|index| self.others.get(index));
        other.unwrap_or(&self.first)
    }

    /// As [`get`](Self::get), to be changed.
    pub(crate) fn get_mut(&mut self, slot: Slot) -> &mut T {
        let other = slot.0.checked_sub(1);
        match other.and_then(|index| self.others.get_mut(index)) {
            Some(other) => other,
            None => &mut self.first,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        std::iter::once(&self.first).chain(&self.others)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }

    /// All machines, in their order.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> + use<T> {
        (0..=self.others.len()).map(Slot)
    }

    /// The first machine that is as wanted.
    pub(crate) fn find(&self, wanted: impl Fn(&T) -> bool) -> Option<Slot> {
        self.iter().position(wanted).map(Slot)
    }

    /// Something else for each machine.
    pub(crate) fn map<U>(&self, make: impl Fn(&T) -> U) -> PerMachine<U> {
        PerMachine {
            first: make(&self.first),
            others: self.others.iter().map(make).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PerMachine, Slot};

    #[test]
    fn each_machine_has_its_own() {
        let mut letters = PerMachine::new('a', vec!['b', 'c']);
        let slots: Vec<Slot> = letters.slots().collect();
        let found: String = slots.iter().map(|slot| letters.get(*slot)).collect();
        assert_eq!((found.as_str(), slots.first()), ("abc", Some(&Slot::FIRST)));
        let second = letters.find(|letter| *letter == 'b').unwrap();
        *letters.get_mut(second) = 'x';
        let upper = letters.map(char::to_ascii_uppercase);
        assert_eq!(upper.iter().collect::<String>(), "AXC");
        assert_eq!(letters.find(|letter| *letter == 'b'), None);
    }
}
