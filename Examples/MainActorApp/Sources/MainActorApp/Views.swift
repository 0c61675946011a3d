// SPDX-License-Identifier: MIT

#if canImport(SwiftUI)
import PulseKit
import SwiftUI

struct NoteView: View {
    @APIRequest<GetNote> private var note: RequestPhase<Note>

    init(id: Int) { _note = APIRequest(GetNote(id: id), autoFetch: true) }

    var body: some View {
        switch note {
        case .success(let note), .refreshing(let note): Text(note.text)
        case .failure(let error): Text(error.localizedDescription)
        case .idle, .loading: ProgressView()
        }
    }
}

struct NotesView: View {
    @PaginatedRequest(GetNotes()) private var notes

    var body: some View {
        List {
            ForEach(notes.items ?? []) { Text($0.text) }
        }
        .refreshable { _ = await $notes.refresh().value }
        .tracksVisibility(of: $notes)
    }
}

struct SavingView: View {
    let client: PulseClient
    @State private var message = ""

    var body: some View {
        Button("Save") {
            Task {
                do {
                    message = try await client.request(SaveNote(note: Note(id: 0, text: "Call Ada"))).text
                } catch {
                    message = error.localizedDescription
                }
            }
        }
        Text(message)
    }
}
#endif
