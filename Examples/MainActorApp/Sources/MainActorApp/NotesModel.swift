// SPDX-License-Identifier: MIT

import PulseKit

/// The state of a screen.
final class NotesModel {
    private let client: PulseClient
    private(set) var notes: [Note] = []
    private(set) var message = ""
    private(set) var requests = 0

    init(_ client: PulseClient) { self.client = client }

    func load() async {
        do {
            for try await page in client.pages(GetNotes()) { notes += page.value.notes }
            message = "\(notes.count) notes, first: \(notes.first?.text ?? "none")"
        } catch {
            message = error.localizedDescription
        }
    }

    func save(_ text: String) async {
        switch await client.result(of: SaveNote(note: Note(id: 0, text: text))) {
        case .success(let note): message = "saved: \(note.text)"
        case .failure(let error): message = error.localizedDescription
        }
    }

    /// Counts the requests of the client until the task is cancelled.
    func follow(_ bus: PulseEventBus) async {
        for await event in bus.events {
            if case .requestStarted = event { requests += 1 }
        }
    }

    /// Follows one note as a screen does.
    func watch(_ id: Int) async -> String {
        let model = RequestModel(GetNote(id: id), client: client)
        model.fetch()
        for await phase in model.phases {
            if case .success(let note) = phase { return note.text }
        }
        return ""
    }
}
