// SPDX-License-Identifier: MIT
//! Calls and events as publishers.

import PulseKit

#if canImport(Combine)
import Combine

struct GetName: Endpoint, Hashable {
    typealias Response = String

    let id: Int
    var path: PathText { "/users/\(id)/name" }
}

func printName(from client: PulseClient) -> AnyCancellable {
    // snippet.opening
    client.publisher(for: GetName(id: 7))
        .sink(receiveCompletion: { print($0) }, receiveValue: { name in print(name) })
    // snippet.end
}

// snippet.publisher
@MainActor
final class NameLabel {
    var text = ""
    private var calls: Set<AnyCancellable> = []

    func load(id: Int, from client: PulseClient) {
        client.publisher(for: GetName(id: id))
            .replaceError(with: "unknown")
            .receive(on: DispatchQueue.main)
            .assign(to: \.text, on: self)
            .store(in: &calls)
    }
}
// snippet.end

// snippet.events
@MainActor
final class EventCounter {
    private(set) var count = 0
    private var subscription: AnyCancellable?

    func start() {
        subscription = PulseEventBus.shared.events.sink { [weak self] _ in self?.count += 1 }
    }
}
// snippet.end
#endif
