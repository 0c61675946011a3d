// SPDX-License-Identifier: MIT

public import PulseCore

/// A body as a recorder keeps it: masked text, bytes where that was asked for, or what it was and why it is not there.
public struct RecordedBody: Sendable, Hashable {
    public enum Content: Sendable, Hashable {
        /// There was no body.
        case none
        /// Its text, every known secret masked; the beginning of it if ``RecordedBody/isCut``.
        case text(String)
        /// Of a body that is no text, if the recorder was asked to keep those.
        case bytes(Data)
        case omitted(Omission)
    }

    /// Why a body is not there.
    public enum Omission: String, Sendable, Hashable {
        /// It is no text, in which secrets cannot be found.
        case binary
        /// It is compressed or otherwise coded, so that secrets cannot be found in it.
        case encoded
        /// It was a file, which a recorder does not read.
        case file
        /// It was a stream, which belongs to its reader.
        case stream
        /// It went to make room for later ones.
        case overBudget
    }

    public let content: Content
    /// Of the body as it was, if that is known.
    public let byteCount: Int64?
    /// There was more of it than is kept, or than arrived.
    public let isCut: Bool
    /// The value of `Content-Type`, masked.
    public let contentType: String?

    public static let none = RecordedBody(.none)

    public init(_ content: Content, byteCount: Int64? = nil, isCut: Bool = false, contentType: String? = nil) {
        self.content = content
        self.byteCount = byteCount
        self.isCut = isCut
        self.contentType = contentType
    }

    /// The masked text, if it is text.
    public var text: String? {
        guard case .text(let text) = content else { return nil }
        return text
    }

    /// What it takes in memory, about.
    var cost: Int {
        switch content {
        case .none, .omitted: 0
        case .text(let text): text.utf8.count
        case .bytes(let data): data.count
        }
    }

    /// Without its content.
    var withoutContent: RecordedBody {
        switch content {
        case .none, .omitted: self
        case .text, .bytes:
            RecordedBody(.omitted(.overBudget), byteCount: byteCount, contentType: contentType)
        }
    }
}
