// SPDX-License-Identifier: MIT

import PulseKit

/// A message of the room. The server numbers them, and tells which post became which message.
struct Message: Decodable, Sendable {
    let id: Int
    let post: UUID?
    let from: String
    let text: String
}

/// A message to the server, which takes each id once.
struct Post: Encodable, Sendable {
    let post = UUID()
    let text: String
}

/// The first message of a connection: the server sends what came after that message.
struct Join: Encodable, Sendable {
    let after: Int
}

struct Chat: SocketEndpoint {
    let room: String

    var path: PathText { "/rooms/\(room)" }
}

/// What outlives a connection: the last message that came, and the posts that have not come back as messages.
actor Room {
    private(set) var last = 0
    private(set) var unconfirmed: [Post] = []
    private var isLeaving = false

    func add(_ post: Post) { unconfirmed.append(post) }

    /// Whether the message is a new one.
    func takes(_ message: Message) -> Bool {
        guard message.id > last else { return false }
        last = message.id
        unconfirmed.removeAll { $0.post == message.post }
        return true
    }

    /// The user adds nothing more.
    func leave() { isLeaving = true }

    /// Whether the user has left, and all posts have arrived.
    var isDone: Bool { isLeaving && unconfirmed.isEmpty }
}

/// The lines of the input.
func lines() -> AsyncStream<String> {
    AsyncStream { continuation in
        Thread.detachNewThread {
            while let line = readLine() { continuation.yield(line) }
            continuation.finish()
        }
    }
}
