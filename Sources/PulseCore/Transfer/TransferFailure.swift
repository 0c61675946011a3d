// SPDX-License-Identifier: MIT

/// Why a transfer failed, other than by the network: the `underlying` error of ``PulseError/transport(_:underlying:)``.
///
/// The first five come with the code `badServerResponse`, the others with `cannotWriteToFile`. The target of a download
/// is unchanged after each of them.
///
/// ```swift
/// } catch PulseError.transport(_, let failure as TransferFailure) where failure == .fileExists {
///     print(failure.file?.path ?? "")
/// }
/// ```
public struct TransferFailure: Error, Sendable {
    /// What went wrong.
    public enum Reason: Sendable, Hashable {
        /// The digest does not match the one given by the caller or the server. The partial file is deleted.
        case digestMismatch
        /// The content ended after that number of bytes, which is not its declared length.
        case wrongLength(Int64)
        /// Whenever the transfer resumed, the server's content had changed, or the part that it sent did not fit. As
        /// the `underlying` of ``PulseError/encodingFailed(underlying:)``: the file of a resumable upload changed each
        /// time.
        case contentKeepsChanging
        /// Instead of the rest, the server sent content of another media type, such as an error page with status 200,
        /// or of another length with the validator of the partial file. That file is kept for another download. After a
        /// second such failure it is deleted, since the content may be new.
        case unexpectedContent
        /// The server of a resumable upload reported an offset beyond the file, or rejected its own offset.
        case rejectedOffset
        /// The disk has no space for the rest, which has that number of bytes. The partial file is kept.
        case noSpace(needed: Int64)
        /// Another download to the same file, or upload of it, is in progress, or another list of downloads uses the
        /// directory, in this process or another.
        case busy
        /// The file exists, and the options do not allow replacing it.
        case fileExists
        /// The directory does not exist or may not be written, or the file's path is that of a directory.
        case unusableDestination
    }

    /// What went wrong.
    public let reason: Reason
    /// The file of the transfer, or the directory of its list; nil if it is unknown.
    public package(set) var file: URL?
    /// The method and the redacted URL, for texts.
    package var request: String?

    /// Creates a failure, for tests.
    public init(_ reason: Reason, file: URL? = nil) {
        self.reason = reason
        self.file = file
    }

    /// See ``Reason/digestMismatch``.
    public static let digestMismatch = TransferFailure(.digestMismatch)
    /// See ``Reason/wrongLength(_:)``.
    public static func wrongLength(_ length: Int64) -> TransferFailure { TransferFailure(.wrongLength(length)) }
    /// See ``Reason/contentKeepsChanging``.
    public static let contentKeepsChanging = TransferFailure(.contentKeepsChanging)
    /// See ``Reason/unexpectedContent``.
    public static let unexpectedContent = TransferFailure(.unexpectedContent)
    /// See ``Reason/rejectedOffset``.
    public static let rejectedOffset = TransferFailure(.rejectedOffset)
    /// See ``Reason/noSpace(needed:)``.
    public static func noSpace(needed: Int64) -> TransferFailure { TransferFailure(.noSpace(needed: needed)) }
    /// See ``Reason/busy``.
    public static let busy = TransferFailure(.busy)
    /// See ``Reason/fileExists``.
    public static let fileExists = TransferFailure(.fileExists)
    /// See ``Reason/unusableDestination``.
    public static let unusableDestination = TransferFailure(.unusableDestination)
}

extension TransferFailure: Hashable {
    /// Whether the reasons are equal, whatever the files.
    public static func == (one: TransferFailure, other: TransferFailure) -> Bool { one.reason == other.reason }

    public func hash(into hasher: inout Hasher) { hasher.combine(reason) }

    /// Whether an error is that failure, for `case .transport(_, TransferFailure.busy)`.
    public static func ~= (failure: TransferFailure, error: any Error) -> Bool { error as? TransferFailure == failure }
}

extension TransferFailure.Reason {
    /// One clause, without the file.
    package var text: String {
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
}

extension TransferFailure: CustomStringConvertible, LocalizedError {
    /// The reason, the path and the request, as far as they are known.
    public var description: String {
        let path = file.map { ": \(Redaction.standard.text($0.path))" } ?? ""
        return (reason.text + path + (request.map { ", \($0)" } ?? "")).onOneLine
    }

    public var errorDescription: String? { description }

    /// The failure as the error of a call.
    package var asPulseError: PulseError {
        switch reason {
        case .digestMismatch, .wrongLength, .contentKeepsChanging, .unexpectedContent, .rejectedOffset:
            .transport(.badServerResponse, underlying: self)
        case .noSpace, .busy, .fileExists, .unusableDestination:
            .transport(.cannotWriteToFile, underlying: self)
        }
    }
}
