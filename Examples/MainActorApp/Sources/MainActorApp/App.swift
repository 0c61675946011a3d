// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

@main
struct App {
    static func main() async throws {
        let texts = ["Buy milk", "Call Bob", "Read", "Write", "Run", "Sleep", "Eat"]
        let pages = Stub(.get, "/notes").reply(
            .closure { request, _ in
                let isSecond = request.url?.query == "cursor=b"
                let notes = texts.enumerated().map { Note(id: $0.offset, text: $0.element) }
                let page = isSecond ? Array(notes[4...]) : Array(notes[..<4])
                return PulseResponse(
                    statusCode: 200, data: try JSONEncoder().encode(Page(notes: page, next: isSecond ? nil : "b")),
                    request: request)
            })
        let transport = MockTransport(stubs: [
            pages.header("Authorization", "Bearer t2"),
            Stub(.post, "/notes").reply(.json(Note(id: 8, text: "Call Ada"))),
            Stub(.get, "/notes/8").reply(.json(Note(id: 8, text: "Call Ada"))),
            Stub().reply(.status(401)),
        ])
        let bus = PulseEventBus()
        let client = PulseClient(
            configuration: PulseConfiguration().with(\.baseURL, value: URL(string: "https://notes.example.com")),
            plugins: [NamePlugin(), .auth(Session()), .retry()], transport: transport, events: bus)
        let model = NotesModel(client)
        await model.load()
        print(model.message)
        await model.save("Call Ada")
        print(model.message)
        _ = await model.watch(8)
        let (token, app) = (Self.last("Authorization", of: transport), Self.last("X-App", of: transport))
        print("sent: \(token) by \(app)")
        print("requests: \(transport.requests.count)")
        await client.shutdown()
    }

    private static func last(_ field: String, of transport: MockTransport) -> String {
        transport.requests.last?.value(forHTTPHeaderField: field) ?? "none"
    }
}

nonisolated private struct Page: Encodable {
    let notes: [Note]
    let next: String?
}
