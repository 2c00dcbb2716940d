//! Every number of the documents that users know, with file and line as in [`super::documents`].

use super::objects::pool;
use super::short_circuit::{assessed, text};
use crate::health::dialect::Dialect;
use crate::health::limit::{IntOrText, Limit};

/// Where, which dialect, the limit, how many Machines, how many of them unhealthy, whether remediated.
type Limited = (&'static str, Dialect, IntOrText, usize, usize, bool);

/// Whether remediation is allowed, which is something even where nothing is unhealthy, and how many Machines are
/// remediated.
fn remediated(dialect: Dialect, limit: Limit, size: usize, unhealthy: usize) -> (bool, usize) {
    let assessment = assessed(dialect, limit, &pool(size, unhealthy));
    let counts = (assessment.counts.expected, assessment.counts.healthy);
    let expected = (u32::try_from(size), u32::try_from(size.saturating_sub(unhealthy)));
    assert_eq!((Ok(counts.0), Ok(counts.1)), expected);
    (assessment.allowance.allowed, assessment.remediate().len())
}

#[test]
fn limits() {
    let (openshift, cluster_api) = (Dialect::OpenShift, Dialect::ClusterApiV1Beta1);
    let two = || IntOrText::Integer(2);
    let cases: [Limited; 22] = [
        ("000:122 two or fewer", openshift, two(), 100, 2, true),
        ("000:122 two or fewer", openshift, text("2"), 100, 1, true),
        ("000:123 three or more", openshift, two(), 100, 3, false),
        ("000:124 however many are checked", openshift, two(), 3, 2, true),
        ("000:124 however many are checked", openshift, two(), 3, 3, false),
        ("000:129 25 at 40%, 10", openshift, text("40%"), 25, 10, true),
        ("000:130 25 at 40%, 11", openshift, text("40%"), 25, 11, false),
        ("000:134 6 at 40%, 2", openshift, text("40%"), 6, 2, true),
        ("000:135 6 at 40%, 3", openshift, text("40%"), 6, 3, false),
        ("002:128 40% of 5, none", openshift, text("40%"), 5, 0, true),
        // 002:104 says "at or above this threshold"; the code, 000:123 and 002:343 say above.
        ("002:104 40% of 5, 2", openshift, text("40%"), 5, 2, true),
        ("002:108 40% of 5, 3", openshift, text("40%"), 5, 3, false),
        ("002:436 10 at 50%, 6", openshift, text("50%"), 10, 6, false),
        ("002:436 10 at 50%, 5", openshift, text("50%"), 10, 5, true),
        ("003:161 100% of all", cluster_api, text("100%"), 7, 7, true),
        ("003:169 two or fewer", cluster_api, two(), 100, 2, true),
        ("003:170 three or more", cluster_api, two(), 100, 3, false),
        (
            "003:172 however many are checked",
            cluster_api,
            two(),
            3,
            3,
            false,
        ),
        ("003:177 25 at 40%, 10", cluster_api, text("40%"), 25, 10, true),
        ("003:178 25 at 40%, 11", cluster_api, text("40%"), 25, 11, false),
        ("003:181 6 at 40%, 2", cluster_api, text("40%"), 6, 2, true),
        ("003:182 6 at 40%, 3", cluster_api, text("40%"), 6, 3, false),
    ];
    for (line, dialect, max, size, unhealthy, allowed) in cases {
        let limit = Limit::read(dialect, Some(&max), None).unwrap();
        let expected = (allowed, if allowed { unhealthy } else { 0 });
        assert_eq!(remediated(dialect, limit, size, unhealthy), expected, "{line}");
    }
}

#[test]
fn range_of_3_to_5() {
    for dialect in [Dialect::ClusterApiV1Beta1, Dialect::ClusterApiV1Beta2] {
        let max = IntOrText::Integer(10);
        let limit = Limit::read(dialect, Some(&max), Some("[3-5]")).unwrap();
        for size in [10, 50] {
            for unhealthy in 0..=10 {
                let allowed = (3..=5).contains(&unhealthy);
                let expected = (allowed, if allowed { unhealthy } else { 0 });
                let line = "003:196, 003:203 to 003:207";
                let number = remediated(dialect, limit, size, unhealthy);
                assert_eq!(number, expected, "{line}: {unhealthy} of {size}");
            }
        }
    }
}
