// SPDX-License-Identifier: MIT

/// One event of a `text/event-stream` response (WHATWG HTML, section 9.2).
public struct ServerSentEvent: Sendable, Hashable {
    /// The type in the field `event`; `message` without one.
    public let type: String
    /// The lines of the fields `data`, joined by LF.
    public let data: String
    /// The last event id in force; empty if the server has sent none.
    public let id: String

    /// Creates an event.
    public init(type: String = "message", data: String, id: String = "") {
        self.type = type
        self.data = data
        self.id = id
    }

    /// Decodes ``data``. Throws ``PulseError/decodingFailed(type:underlying:)``, or ``PulseError/emptyBody`` if there
    /// are no bytes to decode.
    public func decode<Value: Decodable>(
        _ type: Value.Type, using decoder: any ResponseDecoder = .json
    ) throws -> Value {
        let bytes = Data(data.utf8)
        do {
            return try decoder.decode(type, from: bytes)
        } catch let error as PulseError {
            throw error
        } catch {
            throw bytes.isEmpty ? .emptyBody : PulseError.decodingFailed(type: "\(type)", underlying: error)
        }
    }
}
