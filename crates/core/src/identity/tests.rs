use proptest::prelude::*;

use super::*;

proptest! {
    /// By that value an index finds what matches, and nothing else.
    #[test]
    fn in_either_order_uuids_are_one_exactly_if_they_match(
        one in any::<[u8; 16]>(), other in any::<[u8; 16]>(), kind in 0..3_u8,
    ) {
        let one = SystemUuid(one);
        let other = match kind {
            0 => one.byte_swapped(),
            1 => one.clone(),
            _ => SystemUuid(other),
        };
        prop_assert_eq!(one.in_either_order() == other.in_either_order(), one.matches(&other).is_some());
        prop_assert_eq!(kind < 2, one.matches(&other).is_some());
        prop_assert!(one.matches(&one.in_either_order()).is_some());
    }
}
