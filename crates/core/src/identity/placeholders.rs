//! System UUIDs that vendors ship on many boards. They name no host, whoever says them.

use super::SystemUuid;

/// Values seen on boards of different owners, in one of the two byte orders.
/// Sources: freebsd/freebsd-src `libexec/rc/rc.d/hostid`, `valid_hostid`; for the last one FOGProject/fogproject
/// `packages/web/lib/fog/hostmanager.class.php`, `getHostByUuidAndSerial`.
const SHIPPED: [u128; 8] = [
    // AMI's, also on boards of Supermicro, ASUS, ASRock, MSI.
    0x0300_0200_0400_0500_0006_0007_0008_0009,
    0x0709_0201_0103_0301_0807_0605_0403_0201,
    0x1111_1111_2222_3333_4444_5555_5555_5555,
    // Dell's, with a service tag of spaces.
    0x4c4c_4544_0000_2010_8020_80c0_4f20_2020,
    0x890e_2d14_cacd_45d1_ae66_bc80_e8bf_eb0f,
    0x8e27_5844_178f_44a8_aceb_a7d7_e517_8c63,
    0xdc69_8397_fa54_4cf2_82c8_b1b5_307a_6a7f,
    0x1234_5678_1234_5678_90ab_cdde_efaa_bbcc,
];

/// Whether it is a placeholder in this byte order. One byte over and over is one, such as that of memory that was never
/// written; so is all ones but for the first group. All zeros and all ones stand for none (DSP0134 3.7.0, 7.2.1).
pub(super) fn is_one(uuid: &SystemUuid) -> bool {
    let SystemUuid(bytes) = uuid;
    let [first, ..] = bytes;
    let [_, _, _, _, rest @ ..] = bytes;
    let repeats = bytes.iter().all(|byte| byte == first);
    let is_unset = rest.iter().all(|byte| *byte == 0xff);
    repeats || is_unset || SHIPPED.contains(&u128::from_be_bytes(*bytes))
}
