// SPDX-License-Identifier: MIT

public import PulseCore

/// The reason why a file that keeps what must not be lost could not be read or written.
///
/// It reaches callers inside ``PulseError/custom(_:)``. What was in the file before is still in it.
public enum JournalFailure: Error, Sendable, Hashable {
    /// The disk, or the user's share of it, is full.
    case noSpace
    /// The file or its directory belongs to somebody else, or the device is not unlocked yet.
    case notPermitted
    /// The file system takes no writes.
    case readOnly
    /// The directory, or the file in it, was deleted while it was in use.
    case missing
    /// A later version of PulseKit wrote the file; it is left as it is.
    case newerVersion(Int)
    /// A record no longer matches its checksum.
    case damagedRecord
    /// A payload has a line break, which a record of one line cannot hold.
    case notOneLine
    /// A tag of more than some thousand bytes.
    case tagTooLong
    /// Any other failure, with the operation and the system's error number.
    case system(operation: String, code: Int32)

    /// What the last failed system call means.
    init(_ operation: String, code: Int32 = errno) {
        switch code {
        case ENOSPC, EDQUOT: self = .noSpace
        case EACCES, EPERM: self = .notPermitted
        case EROFS: self = .readOnly
        case ENOENT, ENOTDIR: self = .missing
        default: self = .system(operation: operation, code: code)
        }
    }
}

extension JournalFailure: CustomStringConvertible, LocalizedError {
    public var description: String {
        switch self {
        case .noSpace: "there is no space left on the disk"
        case .notPermitted: "the journal may not be read or written"
        case .readOnly: "the journal's file system is read-only"
        case .missing: "the journal or its directory is gone"
        case .newerVersion(let version): "the journal is of version \(version), which a later PulseKit wrote"
        case .damagedRecord: "the record is damaged"
        case .notOneLine: "the payload has a line break"
        case .tagTooLong: "the tag is too long"
        case .system(let operation, let code): "\(operation) failed with error \(code)"
        }
    }

    public var errorDescription: String? { description }
}
