// SPDX-License-Identifier: MIT

/// One event of a `text/event-stream` response (WHATWG HTML, section 9.2).
public struct ServerSentEvent: Sendable, Hashable {
    /// The value of the `event` field; `message` without one.
    public let type: String
    /// The values of the `data` fields, joined by LF.
    public let data: String
    /// The last event ID when the event was sent; empty if the server has sent none.
    public let id: String

    /// The connection that delivered the event; nil for an event that no client received.
    package var connection: Connection?

    /// Creates an event.
    public init(type: String = "message", data: String, id: String = "") {
        self.type = type
        self.data = data
        self.id = id
    }

    /// Decodes ``data`` with the decoder of the call that received the event, or as JSON with Foundation's defaults if
    /// no client received it.
    ///
    /// Throws ``PulseError/decodingFailed(type:underlying:)``, or ``PulseError/emptyBody`` if there are no bytes to
    /// decode.
    public func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try decode(type, using: connection?.response.decoder ?? .json)
    }

    /// Decodes ``data`` with that decoder. Errors are those of ``decode(_:)``.
    public func decode<Value: Decodable>(_ type: Value.Type, using decoder: any ResponseDecoder) throws -> Value {
        let bytes = Data(data.utf8)
        do {
            return try decoder.decode(type, from: bytes)
        } catch {
            let error = failure(error, decoding: type, bytes, as: decoder.contentType)
            throw error.kind == .decodingFailed && bytes.isEmpty ? .emptyBody : error
        }
    }

    private func failure(
        _ error: any Error, decoding type: Any.Type, _ bytes: Data, as contentType: String
    ) -> PulseError {
        guard var part = connection?.response else {
            return error as? PulseError ?? .decodingFailed(type: "\(type)", underlying: error)
        }
        part.data = bytes
        return PulseError(decoding: type, error, of: part, as: contentType, element: "event \(shownType)")
    }

    /// The type for texts: the server controls it.
    package var shownType: String {
        type.utf8.count <= 80 && type.isHTTPToken ? type : "with no plain name"
    }

    // The connection says where an event came from, not what it is.
    public static func == (one: ServerSentEvent, other: ServerSentEvent) -> Bool {
        one.type == other.type && one.data == other.data && one.id == other.id
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        hasher.combine(data)
        hasher.combine(id)
    }
}

extension ServerSentEvent: CustomReflectable {
    /// The three fields.
    public var customMirror: Mirror {
        Mirror(self, children: ["type": type, "data": data, "id": id], displayStyle: .struct)
    }
}

extension ServerSentEvent {
    /// One connection of a stream. A class, since every event has a reference to it.
    package final class Connection: Sendable {
        /// The response without its body.
        package let response: PulseResponse

        package init(_ response: PulseResponse) {
            self.response = response
        }
    }
}
