// SPDX-License-Identifier: MIT

import PulseKit

struct Note: Codable, Sendable {
    let id: UUID
    let text: String
}

/// Saves a note under an id of its own, so that a note that is sent twice is one note.
struct SaveNote: Endpoint {
    typealias Response = EmptyResponse

    let note: Note

    var path: PathText { "/notes/\(note.id)" }
    let method = HTTPMethod.put
    var body: RequestBody { .json(note) }
    let isQueueableWhenOffline = true
    /// The server gets the notes in the order in which they were written.
    var options: RequestOptions { .init().with(\.tag, value: "notes").with(\.queuesBehindPending, value: true) }
}

/// The notes on this device, in a file, with what is known of each on the server.
actor NoteBook {
    enum State: Codable, Equatable, Sendable {
        case unsent, queued(UUID), saved, refused(String)

        var name: String { "\(self)".prefix { $0 != "(" }.description }
    }

    struct Entry: Codable, Sendable {
        let note: Note
        var state: State
    }

    private(set) var entries: [Entry] = []
    private let file: URL
    private let client: PulseClient

    init(server: String, directory: URL, token: String) throws {
        file = directory.appendingPathComponent("notes.json")
        // Nothing expires and nothing is dropped: what has left the queue is saved or refused.
        let queue = OfflineQueuePolicy(
            requestExpiry: .infinity, directory: directory.appendingPathComponent("queue"), queuedFailures: .all)
        client = PulseClient(
            configuration: PulseConfiguration(baseURL: server).with(\.offlineQueuePolicy, value: queue),
            plugins: [.bearer(token)])
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        if FileManager.default.fileExists(atPath: file.path) {
            entries = try JSONDecoder().decode([Entry].self, from: Data(contentsOf: file))
        }
    }

    /// Stores a note, and sends it: now, or as soon as the server can be reached.
    func add(_ text: String) async throws -> Entry {
        let index = entries.count
        entries.append(Entry(note: Note(id: UUID(), text: text), state: .unsent))
        try store()
        try await send(index)
        return entries[index]
    }

    /// Sends what waits, learns what has become of it, also of what another process has sent, and fetches the notes of
    /// other devices.
    func sync() async throws {
        guard let queue = client.offlineQueue else { return }
        try await queue.drain()
        // In this order: an entry that leaves the queue in between is looked at the next time.
        let waiting = Set(try await queue.pending().map(\.id))
        let letters = try await queue.deadLetters()
        for index in entries.indices {
            guard case .queued(let id) = entries[index].state, !waiting.contains(id) else { continue }
            let letter = letters.first { $0.id == id }
            entries[index].state = letter.map { State.refused($0.reason.message) } ?? .saved
        }
        try store()
        for letter in letters { try await queue.remove(id: letter.id) }
        // What a crash has left between the file and the queue.
        for index in entries.indices where entries[index].state == .unsent { try await send(index) }
        let remote: [Note] = try await client.get("/notes")
        let known = Set(entries.map(\.note.id))
        entries += remote.filter { !known.contains($0.id) }.map { Entry(note: $0, state: .saved) }
        try store()
    }

    func close() async { await client.shutdown() }

    private func send(_ index: Int) async throws {
        do {
            try await client.request(SaveNote(note: entries[index].note))
            entries[index].state = .saved
        } catch PulseError.queuedOffline(let id) {
            entries[index].state = .queued(id)
        } catch let error as PulseError where error.statusCode == 422 {
            entries[index].state = .refused("\(error)")
        }
        try store()
    }

    private func store() throws {
        try JSONEncoder().encode(entries).write(to: file, options: .atomic)
    }
}
