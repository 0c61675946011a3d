// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseGraphQL

@Suite(.throttled)
struct PersistedQueryStateMachineTests {
    private typealias Step = PersistedQueryStateMachine.Step

    private func machine(
        _ kind: GraphQLDocument.Kind = .query, _ mode: GraphQLSettings.PersistedQueries = .automatic,
        usesGET: Bool = false, isRepeatable: Bool = true, isSupported: Bool = true
    ) -> PersistedQueryStateMachine {
        let settings = GraphQLSettings().with(\.persistedQueries, value: mode).with(\.queriesUseGET, value: usesGET)
        return PersistedQueryStateMachine(settings, kind, isRepeatable: isRepeatable, isSupported: isSupported)
    }

    @Test func aKnownHashIsAllThatIsSent() {
        var machine = machine()
        #expect(machine.first == Step(form: .hash, isGET: false))
        let next = machine.next(after: nil)
        #expect(next == nil)
    }

    @Test func anUnknownHashIsSentOnceMoreWithTheDocument() {
        var machine = machine()
        var steps = [machine.next(after: .notFound)]
        steps.append(machine.next(after: .notFound))
        #expect(steps == [Step(form: .both, isGET: false), nil])
    }

    @Test func aServerWithoutHashesGetsTheDocumentAlone() {
        var machine = machine()
        var steps = [machine.next(after: .notSupported)]
        steps.append(machine.next(after: .notSupported))
        #expect(steps == [Step(form: .document, isGET: false), nil])
        #expect(self.machine(isSupported: false).first == Step(form: .document, isGET: false))
    }

    @Test func onlyQueriesAreAskedByGET() {
        #expect(machine(.query, .automaticWithGET).first == Step(form: .hash, isGET: true))
        #expect(machine(.mutation, .automaticWithGET).first == Step(form: .hash, isGET: false))
        #expect(machine(.query, usesGET: true).first == Step(form: .hash, isGET: true))
        #expect(machine(.mutation, usesGET: true).first == Step(form: .hash, isGET: false))
        var fallsBack = machine(.query, .automaticWithGET)
        let second = fallsBack.next(after: .notFound)
        #expect(second == Step(form: .both, isGET: false))
        var stays = machine(.query, usesGET: true)
        let other = stays.next(after: .notFound)
        #expect(other == Step(form: .both, isGET: true))
    }

    @Test func oneRequestIsAllThatAnIdempotencyKeyStandsFor() {
        var machine = machine(.mutation, isRepeatable: false)
        #expect(machine.first == Step(form: .both, isGET: false))
        let next = machine.next(after: .notFound)
        #expect(next == nil)
    }

    @Test func aComplaintIsReadFromItsMessageOrItsCode() {
        typealias Complaint = PersistedQueryStateMachine.Complaint
        #expect(Complaint([GraphQLError(message: "PersistedQueryNotFound")]) == .notFound)
        #expect(
            Complaint([GraphQLError(message: "?", extensions: ["code": "PERSISTED_QUERY_NOT_FOUND"])]) == .notFound)
        #expect(Complaint([GraphQLError(message: "PersistedQueryNotSupported")]) == .notSupported)
        #expect(
            Complaint([GraphQLError(message: "other"), GraphQLError(message: "PersistedQueryNotFound")]) == .notFound)
        #expect(Complaint([GraphQLError(message: "no"), GraphQLError(message: "persistedquerynotfound")]) == nil)
        #expect(Complaint([]) == nil)
    }
}
