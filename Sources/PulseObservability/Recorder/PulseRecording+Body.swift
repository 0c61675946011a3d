// SPDX-License-Identifier: MIT

package import PulseCore

extension PulseRecording {
    /// A recorded body: masked text, bytes if enabled, or the reason why it is missing.
    public struct Body: Sendable, Hashable {
        /// The stored content of a body.
        package enum Content: Sendable, Hashable {
            /// There was no body.
            case none
            /// The text, every known secret masked; its beginning if ``PulseRecording/Body/isTruncated``.
            case text(String)
            /// The bytes of a body that is not text, if the recorder stores those.
            case bytes(Data)
            /// No content, for that reason.
            case omitted(Omission)
        }

        /// The reason why a body is missing.
        package enum Omission: String, Sendable, Hashable {
            /// The body is not text, so secrets cannot be found in it.
            case binary
            /// The body is compressed or otherwise encoded, so secrets cannot be found in it.
            case encoded
            /// The body was a file, which a recorder does not read.
            case file
            /// The body was a stream or a connection, which belongs to its reader.
            case stream
            /// The body was dropped to keep the recording within its budget, or is longer than one body may be.
            case overBudget
        }

        /// The stored content.
        package let content: Content
        /// The length of the whole body in bytes, if it is known; of a stream, the bytes that were read.
        public internal(set) var byteCount: Int64?
        /// Whether the body is longer than the part that is stored, or than the part that was received.
        public let isTruncated: Bool
        /// The value of `Content-Type`, masked.
        public let contentType: String?

        /// No body.
        package static let none = Body(.none)

        /// Creates a body with that content; by default of unknown length and type, and not truncated.
        package init(_ content: Content, byteCount: Int64? = nil, isTruncated: Bool = false, contentType: String? = nil)
        {
            self.content = content
            self.byteCount = byteCount
            self.isTruncated = isTruncated
            self.contentType = contentType
        }

        /// The masked text; nil if none is stored.
        public var text: String? {
            guard case .text(let text) = content else { return nil }
            return text
        }

        /// The approximate size in memory, in bytes.
        var cost: Int {
            switch content {
            case .none, .omitted: 0
            case .text(let text): text.utf8.count
            case .bytes(let data): data.count
            }
        }

        /// The body without its content.
        var withoutContent: Body {
            switch content {
            case .none, .omitted: self
            case .text, .bytes:
                Body(.omitted(.overBudget), byteCount: byteCount, contentType: contentType)
            }
        }
    }
}

extension PulseRecording.Body {
    /// The size of the body, and whether it is cut or omitted, as text; nil if there was no body.
    package var note: String? {
        let size = byteCount.map { LogText.count($0, "byte") }
        switch content {
        case .none: return nil
        case .text: return isTruncated ? "cut, of \(size ?? "an unknown length")" : size
        case .bytes: return (size ?? "bytes") + ", no text"
        case .omitted(let reason): return [size, "not kept: \(reason.text)"].compactMap { $0 }.joined(separator: ", ")
        }
    }
}

extension PulseRecording.Body.Omission {
    fileprivate var text: String {
        switch self {
        case .binary: "no text"
        case .encoded: "compressed"
        case .file: "a file"
        case .stream: "a stream"
        case .overBudget: "no room"
        }
    }
}
