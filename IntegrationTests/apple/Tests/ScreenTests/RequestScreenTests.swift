// SPDX-License-Identifier: MIT

import Combine
import PulseKit
import PulseTesting
import SwiftUI
import TestSupport
import Testing

/// The views of Docs/Snippets/RequestViews.swift, and some more, shown by a host.
@Suite(.throttled)
@MainActor
struct RequestScreenTests {
    private let clock = TestClock()
    private let ada = Stub(.get, "/users/1").reply(.data(Data(#"{"id": 1, "name": "Ada"}"#.utf8)))
    private let bob = Stub(.get, "/users/2").reply(.data(Data(#"{"id": 2, "name": "Bob"}"#.utf8)))

    private func client(_ stubs: Stub...) -> PulseClient {
        PulseClient(
            configuration: .test("https://api.example.com").with(\.clock, value: clock),
            transport: MockTransport(stubs: stubs), events: PulseEventBus())
    }

    /// A host for a view with a client; afterwards nothing may have gone wrong, and no task is left.
    private func show(
        _ view: some View, _ client: PulseClient, rows: Int = 100, _ body: (ViewHost) async throws -> Void
    ) async throws {
        let host = ViewHost(rows: rows) { view.environment(\.pulseClient, client) }
        try await body(host)
        #expect(host.faults == [])
        host.remove()
        await client.shutdown()
    }

    @Test func aViewLoadsItsRequestWhenItIsShown() async throws {
        try await show(UserView(id: 1), client(ada)) { host in
            #expect(ada.count == 0)
            #expect(host.lines == ["…"])
            await host.shows("Ada")
            #expect(host.lines == ["Ada"])
        }
        #expect(ada.count == 1)
    }

    @Test func aFailureIsShownAndTriedAgain() async throws {
        let stub = Stub(.get, "/users/1").reply(
            .status(500), .data(Data(#"{"id": 1, "name": "Ada"}"#.utf8)))
        try await show(UserView(id: 1), client(stub)) { host in
            await host.shows("[Retry]")
            #expect(host.lines.count == 2 && host.lines[0].contains("500"))
            host.tap("Retry")
            #expect(host.lines == ["…"])
            await host.shows("Ada")
        }
    }

    /// Shows the user whose number a button changes.
    private struct Chooser: View {
        @State private var id = 1

        var body: some View {
            Button("Next") { id = 3 - id }
            UserView(id: id)
        }
    }

    @Test func aViewFollowsItsArgument() async throws {
        try await show(Chooser(), client(ada, bob)) { host in
            await host.shows("Ada")
            host.tap("Next")
            #expect(host.lines == ["[Next]", "…"])
            await host.shows("Bob")
            // The model has left the first request, whose value is no longer there.
            host.tap("Next")
            await host.shows("Ada")
        }
        #expect((ada.count, bob.count) == (2, 1))
    }

    private struct Pair: View {
        var body: some View {
            UserView(id: 1)
            UserView(id: 1)
        }
    }

    @Test func viewsOfOneRequestShareItsCall() async throws {
        try await show(Pair(), client(ada)) { host in
            #expect(host.lines == ["…", "…"])
            await host.lines { $0 == ["Ada", "Ada"] }
        }
        #expect(ada.count == 1)
    }

    @Test func pullingDownLoadsAgainAndAFailureKeepsTheValue() async throws {
        let team = Stub(.get, "/team").reply(
            .data(Data(#"[{"id": 1, "name": "Ada"}]"#.utf8)), .data(Data(#"[{"id": 2, "name": "Bob"}]"#.utf8)),
            .status(500))
        try await show(TeamView(), client(team)) { host in
            await host.shows("Ada")
            await host.refresh()
            await host.shows("Bob")
            await host.refresh()
            await host.shows("out of date")
            #expect(host.lines == ["This list may be out of date.", "Bob"])
        }
        #expect(team.count == 3)
    }

    /// A screen that covers the team, as one in a navigation does.
    private struct Office: View {
        var body: some View {
            TeamView()
            NavigationLink {
                Text("Empty")
            } label: {
                Text("Room")
            }
        }
    }

    @Test func aStaleValueIsRequestedWhenItsViewComesBack() async throws {
        let team = Stub(.get, "/team").reply(
            .data(Data(#"[{"id": 1, "name": "Ada"}]"#.utf8)), .data(Data(#"[{"id": 2, "name": "Bob"}]"#.utf8)))
        try await show(Office(), client(team)) { host in
            await host.shows("Ada")
            host.open("Room")
            #expect(host.lines == ["Empty"])
            host.back()
            #expect(host.lines[0] == "Ada")
            host.open("Room")
            #expect(host.lines == ["Empty"])
            await clock.advance(by: 61)
            host.back()
            await host.shows("Bob")
        }
        #expect(team.count == 2)
    }

    // MARK: Pages

    private func orders(_ range: ClosedRange<Int>, next: String?) -> Stub.Reply {
        let items = range.map { #"{"id": \#($0), "title": "order \#($0)"}"# }.joined(separator: ", ")
        return .data(Data(#"{"orders": [\#(items)], "next": \#(next.map { "\"\($0)\"" } ?? "null")}"#.utf8))
    }

    @Test func aListLoadsItsNextPageWhenItsEndIsScrolledIntoView() async throws {
        let second = Stub(.get, "/orders").query("cursor", "b").reply(orders(6...8, next: nil))
        let first = Stub(.get, "/orders").reply(orders(1...5, next: "b"))
        try await show(OrderList(), client(second, first), rows: 3) { host in
            await host.shows("order 3")
            #expect(host.lines == ["order 1", "order 2", "order 3"])
            host.scroll(by: 2)
            #expect(host.lines.last == "order 5")
            await settle()
            #expect(second.count == 0)
            host.scroll(by: 10)
            await host.shows("order 8")
            #expect(host.lines.count == 8)
        }
        #expect((first.count, second.count) == (1, 1))
    }

    @Test func aPageThatFailsIsTriedAgain() async throws {
        let second = Stub(.get, "/orders").query("cursor", "b").reply(.status(503), orders(2...2, next: nil))
        let first = Stub(.get, "/orders").reply(orders(1...1, next: "b"))
        try await show(OrderList(), client(second, first)) { host in
            await host.shows("[Try again]")
            #expect(host.lines == ["order 1", "[Try again]"])
            host.tap("Try again")
            await host.shows("order 2")
        }
    }

    // MARK: Previews and clients

    @Test func previewsShowTheirResponsesAndSendNothing() async {
        let host = ViewHost { UserViewPreviews.previews }
        await host.lines { $0.contains("Ada") && $0.contains("[Retry]") }
        #expect(host.faults == [])
        host.remove()
    }

    /// Shows a user over the client that a button changes.
    private struct Switcher: View {
        let clients: [PulseClient]
        @State private var index = 0

        var body: some View {
            Button("Switch") { index = 1 - index }
            UserView(id: 1).environment(\.pulseClient, clients[index])
        }
    }

    @Test func anotherClientOfTheEnvironmentLoadsItsOwnValue() async throws {
        let other = Stub(.get, "/users/1").reply(.data(Data(#"{"id": 1, "name": "Eve"}"#.utf8)))
        let clients = [client(ada), client(other)]
        let host = ViewHost { Switcher(clients: clients) }
        await host.shows("Ada")
        host.tap("Switch")
        #expect(host.lines == ["[Switch]", "…"])
        await host.shows("Eve")
        #expect(host.faults == [])
        host.remove()
        for client in clients { await client.shutdown() }
    }

    // MARK: Publishers of models

    @Test func aModelPublishesBeforeEachChange() async {
        let client = client(ada)
        let model = RequestModel(GetUser(id: 1), client: client)
        var before: [String] = []
        let observing = model.objectWillChange.sink { before.append(Self.name(model.phase)) }
        let phase = await model.fetch().value
        #expect(Self.name(phase) == "success")
        #expect(before == ["idle", "loading"])
        _ = await model.refresh().value
        #expect(before == ["idle", "loading", "success", "refreshing"])
        observing.cancel()
        _ = await model.refresh().value
        #expect(before.count == 4)
        await client.shutdown()
    }

    private static func name<Value>(_ phase: RequestPhase<Value>) -> String {
        switch phase {
        case .idle: "idle"
        case .loading: "loading"
        case .success: "success"
        case .refreshing: "refreshing"
        case .failure: "failure"
        }
    }

    /// Lets every task on the main actor that could run do so.
    private func settle() async {
        for _ in 0..<1000 { await Task.yield() }
    }
}
