// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import TestSupport
import Testing

/// An operation with secrets in its document, its variables and its extensions.
private struct Login: GraphQLOperation {
    struct Value: Decodable, Sendable { let id: Int }
    struct Variables: Encodable, Sendable {
        let password = PlantedSecret.graphQLVariable.value
        let user = "neighbor"
        let input: JSONValue = [
            "a": [["clientSecret": .string(PlantedSecret.nestedJSON.value)]],
            "tokens": ["x", .string(PlantedSecret.jsonArray.value)],
            "credentials": ["x": ["y": .string(PlantedSecret.jsonObjectUnderSecretName.value)]],
            "text": .string(#"{"token":"\#(PlantedSecret.jsonInJSON.value)"}"#),
        ]
        let pin = Int(PlantedSecret.numberInJSON.value)
        let file: JSONValue = .null
    }

    static let document = """
        query Login($password: String!, $input: In, $pin: Int, $file: Upload) {
          login(password: $password, input: $input, pin: $pin, token: "\(PlantedSecret.jsonField.value
            .replacingOccurrences(of: "\"", with: "\\\""))", key: {secret: "\(PlantedSecret.mixedCaseKey.value)"}) { id }
          other(apiKey: \"\"\"\(PlantedSecret.unicodeEscapedKey.value)\"\"\", user: "neighbor") { id }
        }
        """
    let variables = Variables()
    var requestExtensions: [String: JSONValue] = ["accessToken": .string(PlantedSecret.formField.value)]
    var uploads: [GraphQLUpload] = []
}

private struct Watch: GraphQLOperation {
    typealias Value = Login.Value
    static let document = Login.document.replacingOccurrences(of: "query Login", with: "subscription Watch")
    let variables = Login.Variables()
}

private final class SentOperations: Sendable {
    private let texts = Locked<[String]>([])

    var text: String { texts.withLock { $0.joined(separator: "\n") } }

    /// Returns how many there are.
    func add(_ text: String) -> Int {
        texts.withLock { texts in
            texts.append(text)
            return texts.count
        }
    }
}

/// GraphQL operations that carry secrets, in each form of a request: no secret appears in any text.
@Suite(.serialized, .throttled)
struct GraphQLSecretsTests {
    enum Form: CaseIterable, Sendable {
        case post, get, multipart, hash, hashByGET
    }

    @Test(arguments: Form.allCases)
    func noTextOfAnOperationShowsASecret(form: Form) async throws {
        let collector = TextCollector()
        let recorder = PulseRecorder(options: .init(keepsBinaryBodies: true))
        var settings = GraphQLSettings()
        settings.queriesUseGET = form == .get
        settings.persistedQueries = form == .hash ? .automatic : form == .hashByGET ? .automaticWithGET : .off
        var login = Login()
        if form == .multipart { login.uploads = [GraphQLUpload("file", data: Data("neighbor".utf8), filename: "a")] }
        try await MockServer.run { server in
            let bus = PulseEventBus(sink: collector)
            recorder.attach(to: bus)
            let exports = ExportedTexts(of: bus, collector.add)
            let client = ClientStage.client(
                of: server,
                plugins: [
                    .logger(options: .init(verbosity: .verbose, includesCurl: true, output: collector.add)), recorder,
                    .tracing(),
                ], retry: .immediate(2), events: bus, with: { $0.graphQL = settings })
            // Data; errors that repeat the secrets; a status; a lost connection.
            let error = GraphQLError(
                message: #"neighbor: password: "\#(PlantedSecret.errorText.value)""#,
                extensions: ["token": .string(PlantedSecret.errorField.value)])
            let ends: [OperationReply?] = [.data(["id": 1]), .errors(error), nil]
            for end in ends {
                if let end {
                    server.onGraphQL("/graphql") { _ in end }
                } else {
                    server.on(.post, "/graphql") { _ in .status(404) }
                    server.on(.get, "/graphql") { _ in .raw([.reset]) }
                }
                switch await client.result(of: login) {
                case .success(let response): collector.add(all: response)
                case .failure(let error): collector.add(error: error)
                }
            }
            await client.shutdown()
            try await exports.finish()
            let sent = server.requests.map { "\($0.target)\n\($0.text)" }.joined(separator: "\n")
            for secret in [PlantedSecret.graphQLVariable, .nestedJSON, .jsonArray, .mixedCaseKey, .numberInJSON] {
                #expect(secret.isIn(sent), "\(secret) was not sent")
            }
            if form == .get || form == .hashByGET {
                #expect(server.requests.contains { $0.method == .get })
            }
        }
        #expect(recorder.recording().calls.count == 3)
        Self.expectNoSecret(collector, recorder)
    }

    /// The document, the variables and the payload of the connection go by the socket.
    @Test func noTextOfASubscriptionShowsASecret() async throws {
        let collector = TextCollector()
        let recorder = PulseRecorder(options: .init(keepsBinaryBodies: true))
        let settings = GraphQLSettings().with(
            \.connectionPayload, value: { ["token": .string(PlantedSecret.tokenHeader.value)] })
        let received = try await MockServer.run { server in
            let bus = PulseEventBus(sink: collector)
            recorder.attach(to: bus)
            let exports = ExportedTexts(of: bus, collector.add)
            let client = ClientStage.client(
                of: server,
                plugins: [
                    .logger(options: .init(verbosity: .verbose, includesCurl: true, output: collector.add)), recorder,
                    .tracing(),
                ], retry: .default, events: bus, with: { $0.graphQL = settings })
            let error = GraphQLError(
                message: #"neighbor: password: "\#(PlantedSecret.errorText.value)""#,
                extensions: ["token": .string(PlantedSecret.errorField.value)])
            let received = SentOperations()
            let ends: [OperationReply] = [
                .data(["id": 1]), .errors(error),
                .close(code: 4401, reason: "neighbor password=\(PlantedSecret.errorField.value)"),
            ]
            // They share a socket.
            server.onGraphQL("/graphql") { operation in
                let count = received.add(
                    "\(operation.document) \(operation.variables) \(operation.connectionPayload)")
                return ends[min(count, ends.count) - 1]
            }
            for _ in ends {
                do {
                    for try await response in client.subscribe(Watch()) { collector.add(all: response) }
                } catch {
                    collector.add(error: PulseError(wrapping: error))
                }
            }
            await client.shutdown()
            try await exports.finish()
            return received.text
        }
        for secret in [PlantedSecret.graphQLVariable, .nestedJSON, .mixedCaseKey, .tokenHeader] {
            #expect(secret.isIn(received), "\(secret) was not sent")
        }
        Self.expectNoSecret(collector, recorder)
    }

    private static func expectNoSecret(_ collector: TextCollector, _ recorder: PulseRecorder) {
        collector.add(recording: recorder.recording())
        let texts = collector.texts
        let all = texts.joined(separator: "\n")
        #expect(all.contains(Redaction.mask) && all.contains("neighbor"))
        for forbidden in PlantedSecret.forbiddenTexts where all.contains(forbidden) {
            let leak = texts.first { $0.contains(forbidden) } ?? ""
            let place = leak.range(of: forbidden).map { leak[..<$0.lowerBound].suffix(300) } ?? ""
            Issue.record("\(forbidden) leaks after: \(place) in: \(leak.prefix(300))")
        }
    }
}
