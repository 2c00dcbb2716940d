//! Datagrams as a console writes and reads them.

use super::console::Answer;
use super::crypt::algorithms;

/// ASF Presence Ping with tag 0x42.
pub(super) const PING: [u8; 12] = [6, 0, 0xff, 6, 0, 0, 0x11, 0xbe, 0x80, 0x42, 0, 0];

pub(super) fn open_session(privilege: u8, console_id: u32, suite: u8) -> Vec<u8> {
    let mut payload = vec![0x51, privilege, 0, 0];
    payload.extend(console_id.to_le_bytes());
    for (kind, number) in (0..).zip(algorithms(suite)) {
        payload.extend([kind, 0, 0, 8, number, 0, 0, 0]);
    }
    payload
}

pub(super) fn rakp1(managed_id: [u8; 4], random: [u8; 16], role: u8, name: &[u8]) -> Vec<u8> {
    let length = u8::try_from(name.len()).unwrap();
    [
        &[0x52, 0, 0, 0],
        managed_id.as_slice(),
        &random,
        &[role, 0, 0, length],
        name,
    ]
    .concat()
}

pub(super) fn outside(kind: u8, payload: &[u8]) -> Vec<u8> {
    envelope(kind, 0, 0, payload)
}

pub(super) fn envelope(kind: u8, session_id: u32, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![6, 0, 0xff, 7, 6, kind];
    packet.extend(session_id.to_le_bytes());
    packet.extend(sequence.to_le_bytes());
    packet.extend(u16::try_from(payload.len()).unwrap().to_le_bytes());
    packet.extend(payload);
    packet
}

pub(super) fn message(net_fn: u8, rq_seq: u8, command: u8, data: &[u8]) -> Vec<u8> {
    let header = [0x20, net_fn << 2];
    let body = [&[0x81, rq_seq << 2, command], data].concat();
    [header.as_slice(), &[sum(&header)], &body, &[sum(&body)]].concat()
}

pub(super) fn answer(sequence: u32, message: &[u8]) -> Answer {
    assert_eq!(
        (sum(&message[..2]), has_right_checksum(message)),
        (message[2], true),
        "checksums"
    );
    let body = &message[3..message.len() - 1];
    Answer {
        sequence,
        rq_seq: body[1] >> 2,
        command: body[2],
        completion: body[3],
        data: body[4..].to_vec(),
    }
}

/// Whether the last byte is the checksum of what is before it (section 13.8).
pub(super) fn has_right_checksum(message: &[u8]) -> bool {
    let (body, last) = message[3..].split_at(message.len() - 4);
    sum(body) == last[0]
}

fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_sub(*byte))
}
