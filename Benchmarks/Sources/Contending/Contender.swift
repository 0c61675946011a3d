// SPDX-License-Identifier: MIT

public import Foundation

/// An HTTP client that is measured beside others, in a process of its own.
public protocol Contender: Sendable {
    /// One GET, with its 47 bytes of JSON decoded.
    func user(at url: URL) async throws -> User
    /// Reads a body chunk by chunk, keeps nothing of it, and gives its bytes.
    func stream(_ url: URL) async throws -> Int
    /// Writes a body to a file.
    func download(_ url: URL, to file: URL) async throws
    /// PUTs the content of a file.
    func upload(_ file: URL, to url: URL) async throws
    /// The seconds that each request since the last call spent outside of its transport, if that is measured.
    func takeLayerTimes() -> [Double]
}

extension Contender {
    public func stream(_ url: URL) async throws -> Int { throw NotMeasured() }
    public func download(_ url: URL, to file: URL) async throws { throw NotMeasured() }
    public func upload(_ file: URL, to url: URL) async throws { throw NotMeasured() }
    public func takeLayerTimes() -> [Double] { [] }
}

/// What every contender's small request is answered with.
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

/// A contender was asked for what it takes no part in.
public struct NotMeasured: Error {}

/// A response that is not what the server sends: figures of failures would be worth nothing.
public struct WrongAnswer: Error {
    public init() {}
}
