// SPDX-License-Identifier: MIT

public import PulseCore

/// The reason why a file of durable data could not be read or written.
///
/// It reaches callers inside ``PulseError/custom(_:)``, or as the `saveError` of a cookie store. The file keeps its
/// earlier content.
public enum JournalFailure: Error, Sendable, Hashable {
    /// The disk, or the user's quota, is full.
    case noSpace
    /// The file or its directory belongs to another user, or the device is not unlocked yet.
    case notPermitted
    /// Users other than this one and root may write to the directory, and replace its files. Remove that permission, or
    /// use a subdirectory: a missing one is created for its user alone.
    case notPrivate
    /// The file system is read-only.
    case readOnly
    /// The directory, or the file in it, was deleted while it was in use.
    case missing
    /// A later version of PulseKit wrote the file, which is left unchanged.
    case newerVersion(Int)
    /// A record no longer matches its checksum.
    case damagedRecord
    /// A payload contains a line break, which a record of one line cannot hold.
    case notOneLine
    /// The tag takes 4,096 bytes or more when it is percent-encoded.
    case tagTooLong
    /// Any other failure, with the operation and the system's error number.
    case system(operation: String, code: Int32)

    /// Maps the error number of the last failed system call.
    package init(_ operation: String, code: Int32 = errno) {
        switch code {
        case ENOSPC, EDQUOT: self = .noSpace
        case EACCES, EPERM: self = .notPermitted
        case EROFS: self = .readOnly
        case ENOENT, ENOTDIR: self = .missing
        default: self = .system(operation: operation, code: code)
        }
    }

    /// The system's error number, or the most frequent one of a case with several; nil if no system call has failed.
    var code: Int32? {
        switch self {
        case .noSpace: ENOSPC
        case .notPermitted: EACCES
        case .readOnly: EROFS
        case .missing: ENOENT
        case .system(_, let code): code
        case .notPrivate, .newerVersion, .damagedRecord, .notOneLine, .tagTooLong: nil
        }
    }
}

extension JournalFailure: CustomStringConvertible, LocalizedError {
    public var description: String {
        switch self {
        case .noSpace: "there is no space left on the disk"
        case .notPermitted: "the file may not be read or written"
        case .notPrivate: "other users may write to the file's directory"
        case .readOnly: "the file system is read-only"
        case .missing: "the file or its directory is gone"
        case .newerVersion(let version): "the journal is of version \(version), which a later PulseKit wrote"
        case .damagedRecord: "the record is damaged"
        case .notOneLine: "the payload has a line break"
        case .tagTooLong: "the tag is too long"
        case .system(let operation, let code): "\(operation) failed with error \(code)"
        }
    }

    public var errorDescription: String? { description }
}
