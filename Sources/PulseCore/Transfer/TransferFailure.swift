// SPDX-License-Identifier: MIT

/// Why a transfer failed beyond the network's own failures: the `underlying` error of
/// ``PulseError/transport(_:underlying:)``.
///
/// The first five come with the code `badServerResponse`, the others with `cannotWriteToFile`. The target of a download
/// is unchanged after each of them.
public enum TransferFailure: Error, Sendable, Hashable {
    /// The content has another digest than the caller or the server said. What was stored of it is removed.
    case digestMismatch
    /// The content ended after that number of bytes, which is not its declared length.
    case wrongLength(Int64)
    /// Each time the rest was asked for, the server had another content, or sent a part that does not fit. As the
    /// `underlying` of ``PulseError/encodingFailed(underlying:)``: the file of a resumable upload changed each time.
    case contentKeepsChanging
    /// In place of the rest, the server sent something of another media type, as an error page with the status 200 is,
    /// or something of another length with the validator of what was stored. That remains for another download; after a
    /// second such failure it is removed, since the content may be a new one.
    case unexpectedContent
    /// The server of a resumable upload reported an offset beyond the file, or refused its own.
    case rejectedOffset
    /// The disk has no space for the rest, which has that number of bytes. What was stored remains.
    case noSpace(needed: Int64)
    /// Another download to the same file, or upload of it, is in progress, or another list of downloads has the
    /// directory, in this process or another.
    case busy
    /// The file exists, and the options do not allow to replace it.
    case fileExists
    /// The directory does not exist or may not be written, or the file's path is that of a directory.
    case unusableDestination
}

extension TransferFailure: CustomStringConvertible, LocalizedError {
    public var description: String {
        switch self {
        case .digestMismatch: "the content does not have the expected digest"
        case .wrongLength(let length): "the content ended after \(length) bytes, which is not its declared length"
        case .contentKeepsChanging: "the content changed again during the transfer"
        case .unexpectedContent: "the server sent something else in place of the rest"
        case .rejectedOffset: "the server's offset does not fit the file"
        case .noSpace(let needed): "the disk has no space for \(needed) more bytes"
        case .busy: "another transfer of this file is in progress, or another list of downloads has the directory"
        case .fileExists: "the file exists, and is not to be replaced"
        case .unusableDestination: "the destination cannot be written"
        }
    }

    public var errorDescription: String? { description }

    /// The failure as the error of a call.
    package var asPulseError: PulseError {
        switch self {
        case .digestMismatch, .wrongLength, .contentKeepsChanging, .unexpectedContent, .rejectedOffset:
            .transport(.badServerResponse, underlying: self)
        case .noSpace, .busy, .fileExists, .unusableDestination:
            .transport(.cannotWriteToFile, underlying: self)
        }
    }
}
