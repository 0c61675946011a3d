// SPDX-License-Identifier: MIT

public import PulseCore

/// A body as a recorder keeps it: masked text, bytes if that was asked for, or the reason why it is not there.
public struct RecordedBody: Sendable, Hashable {
    /// What is kept of a body.
    public enum Content: Sendable, Hashable {
        /// There was no body.
        case none
        /// The text, every known secret masked; its beginning if ``RecordedBody/isCut``.
        case text(String)
        /// The bytes of a body that is not text, if the recorder was asked to keep those.
        case bytes(Data)
        /// Nothing is kept of the body, for that reason.
        case omitted(Omission)
    }

    /// The reason why a body is not there.
    public enum Omission: String, Sendable, Hashable {
        /// The body is not text, so secrets cannot be found in it.
        case binary
        /// The body is compressed or otherwise coded, so secrets cannot be found in it.
        case encoded
        /// The body was a file, which a recorder does not read.
        case file
        /// The body was a stream, which belongs to its reader.
        case stream
        /// The body made room for later ones.
        case overBudget
    }

    /// What is kept of it.
    public let content: Content
    /// The length of the whole body in bytes, if it is known.
    public let byteCount: Int64?
    /// Whether there was more of it than is kept, or than arrived.
    public let isCut: Bool
    /// The value of `Content-Type`, masked.
    public let contentType: String?

    /// No body.
    public static let none = RecordedBody(.none)

    /// A body with that content; by default of unknown length and type, and not cut.
    public init(_ content: Content, byteCount: Int64? = nil, isCut: Bool = false, contentType: String? = nil) {
        self.content = content
        self.byteCount = byteCount
        self.isCut = isCut
        self.contentType = contentType
    }

    /// The masked text; nil if nothing is kept of it as text.
    public var text: String? {
        guard case .text(let text) = content else { return nil }
        return text
    }

    /// The bytes that it takes in memory, approximately.
    var cost: Int {
        switch content {
        case .none, .omitted: 0
        case .text(let text): text.utf8.count
        case .bytes(let data): data.count
        }
    }

    /// The body without its content.
    var withoutContent: RecordedBody {
        switch content {
        case .none, .omitted: self
        case .text, .bytes:
            RecordedBody(.omitted(.overBudget), byteCount: byteCount, contentType: contentType)
        }
    }
}
