// SPDX-License-Identifier: MIT

public import Foundation

/// A client to compare with others, in a process of its own.
public protocol Contender: Sendable {
    /// One GET, with its 47 bytes of JSON decoded.
    func user(at url: URL) async throws -> User
    /// One GET of that URL: the size of its body, which is in memory.
    func body(_ url: URL) async throws -> Int
    /// Reads a body chunk by chunk, discards it, and returns its byte count.
    func stream(_ url: URL) async throws -> Int
    /// Reads a text line by line, with a string for each, and returns the number of lines that are not empty.
    func lines(_ url: URL) async throws -> Int
    /// Reads an event stream to its first event and leaves it: the data of the event.
    func firstEvent(_ url: URL) async throws -> String
    /// Writes a body to a file, and checks its digest if there is one.
    func download(_ url: URL, to file: URL, sha256: String?, isReported: Bool) async throws
    /// PUTs the content of a file.
    func upload(_ file: URL, to url: URL) async throws
    /// Sends that many binary messages, and another for each that comes back, until `end` in monotonic seconds. Returns
    /// the number of messages that came back, which is all. The WebSocket stays open for the next call.
    func echoes(_ url: URL, size: Int, window: Int, until end: Double) async throws -> Int
}

extension Contender {
    public func user(at url: URL) async throws -> User { throw NotMeasured() }
    public func body(_ url: URL) async throws -> Int { throw NotMeasured() }
    public func stream(_ url: URL) async throws -> Int { throw NotMeasured() }
    public func lines(_ url: URL) async throws -> Int { throw NotMeasured() }
    public func firstEvent(_ url: URL) async throws -> String { throw NotMeasured() }
    public func download(_ url: URL, to file: URL, sha256: String?, isReported: Bool) async throws {
        throw NotMeasured()
    }
    public func upload(_ file: URL, to url: URL) async throws { throw NotMeasured() }
    public func echoes(_ url: URL, size: Int, window: Int, until end: Double) async throws -> Int {
        throw NotMeasured()
    }
}

/// The response to every contender's small request.
public struct User: Codable, Sendable {
    public let id: Int
    public let name: String
    public let isActive: Bool

    public init(id: Int, name: String, isActive: Bool) {
        self.id = id
        self.name = name
        self.isActive = isActive
    }
}

/// A contender does not support the requested measurement.
public struct NotMeasured: Error {}

/// The response is not the server's: figures of failures are meaningless.
public struct WrongResponse: Error {
    public init() {}
}
