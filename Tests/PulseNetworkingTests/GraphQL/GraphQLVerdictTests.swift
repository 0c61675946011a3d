// SPDX-License-Identifier: MIT

import PulseCore
import PulseGraphQL
import PulseTesting
import TestSupport
import Testing

/// What each status, media type and body is for the caller.
@Suite(.throttled)
struct GraphQLVerdictTests {
    private struct Hero: GraphQLOperation {
        struct Value: Codable, Sendable, Equatable { var name: String? }
        static let document = "query Hero { name }"
        typealias Variables = NoVariables
        var options = RequestOptions().with(\.retry, value: .never)
    }

    private enum Outcome: Equatable, CustomStringConvertible {
        case data(String?, errors: Int)
        case errors(Int)
        case failure(PulseError.Kind)

        var description: String {
            switch self {
            case .data(let name, let errors): "data \(name ?? "nil"), \(errors) errors"
            case .errors(let count): "\(count) errors"
            case .failure(let kind): "\(kind)"
            }
        }
    }

    private static let graphQL = "application/graphql-response+json"
    private static let json = "application/json; charset=utf-8"
    private static let draft = "application/graphql+json; charset=utf-8"
    private static let errors =
        #""errors":[{"message":"no"},{"message":"way","path":["a",1,"b"],"extensions":{"x":[1]}}]"#

    private static let bodies: [(text: String, accepted: Outcome, errors: Int)] = [
        (#"{"data":{"name":"R2"}}"#, .data("R2", errors: 0), 0),
        (#" {"extensions":{"cost":[1,{"a":null}]},"data":{"name":null} } "#, .data(nil, errors: 0), 0),
        (#"{"data":{"name":"R2"},"errors":[]}"#, .data("R2", errors: 0), 0),
        (#"{"data":{"name":"R2"},"errors":null}"#, .data("R2", errors: 0), 0),
        (#"{"data":null,\#(errors)}"#, .errors(2), 2),
        (#"{\#(errors)}"#, .errors(2), 2),
        (#"{\#(errors),"data":{"name":"R2"}}"#, .data("R2", errors: 2), 2),
        (#"{"data":{"name":7},\#(errors)}"#, .errors(2), 2),
        (#"{"errors":[{"message":"no","locations":"?","path":7,"extensions":[]}]}"#, .errors(1), 1),
        (#"{"data":{"name":7}}"#, .failure(.decodingFailed), 0),
        (#"{"data":null}"#, .failure(.emptyBody), 0),
        (#"{"data":null,"errors":[]}"#, .failure(.emptyBody), 0),
        (#"{}"#, .failure(.decodingFailed), 0),
        (#"{"errors":[]}"#, .failure(.decodingFailed), 0),
        (#"{"errors":[{"text":"no message"}]}"#, .errors(1), 1),
        (#"{"data":{"name":"R2"},"errors":[{"message":7},null,"no"]}"#, .data("R2", errors: 3), 3),
        (#"{"data":{"name":"R2"},"errors":{"a":1}}"#, .data("R2", errors: 1), 1),
        (#"{"errors":"no"}"#, .failure(.decodingFailed), 0),
        (#"{"data":{"name":"R2"}"#, .failure(.decodingFailed), 0),
        (#"{"data":{"name":"R2"}} x"#, .failure(.decodingFailed), 0),
        ("<html>", .failure(.decodingFailed), 0),
        ("[]", .failure(.decodingFailed), 0),
        ("", .failure(.emptyBody), 0),
    ]

    /// Whether the text is a GraphQL response at all.
    private static func isWellFormed(_ body: (text: String, accepted: Outcome, errors: Int)) -> Bool {
        switch body.accepted {
        case .data, .errors: true
        case .failure(let kind):
            body.text.contains(#""data":"#) && body.text.last == "}" && !body.text.hasSuffix("\"}")
                || kind == .emptyBody && !body.text.isEmpty
        }
    }

    private func outcome(_ status: Int, _ type: String?, _ text: String) async -> Outcome {
        let transport = MockTransport { request in
            var headers = HTTPHeaders()
            headers["Content-Type"] = type
            return PulseResponse(statusCode: status, headers: headers, data: Data(text.utf8), request: request)
        }
        let client = ClientStage.client(.root, over: transport)
        switch await client.result(of: Hero()) {
        case .success(let response): return .data(response.data?.name, errors: response.errors.count)
        case .failure(.graphQL(let errors)): return .errors(errors.count)
        case .failure(let error): return .failure(error.kind)
        }
    }

    @Test(arguments: bodies.indices, [200, 201, 299])
    func theBodyOfAnAcceptedStatusDecides(index: Int, status: Int) async {
        let body = Self.bodies[index]
        for type in [Self.graphQL, Self.json, Self.draft, "Application/JSON", nil] {
            #expect(await outcome(status, type, body.text) == body.accepted, "\(body.text) as \(type ?? "nothing")")
        }
    }

    @Test(arguments: bodies.indices, [302, 400, 403, 404, 422, 500, 503])
    func theBodyOfAGraphQLResponseDecidesWhateverTheStatusIs(index: Int, status: Int) async {
        let body = Self.bodies[index]
        let expected = Self.isWellFormed(body) ? body.accepted : .failure(.http)
        #expect(await outcome(status, Self.graphQL, body.text) == expected, "\(body.text)")
    }

    @Test(arguments: bodies.indices, [400, 403, 404, 422])
    func theErrorsOfARefusedRequestArePassedOn(index: Int, status: Int) async {
        let body = Self.bodies[index]
        let expected: Outcome = body.errors > 0 ? .errors(body.errors) : .failure(.http)
        for type in [Self.json, Self.draft] {
            #expect(await outcome(status, type, body.text) == expected, "\(body.text)")
        }
    }

    @Test(arguments: bodies.indices)
    func theStatusOfAGatewayIsTheError(index: Int) async {
        let text = Self.bodies[index].text
        #expect(await outcome(401, Self.json, text) == .failure(.unauthorized))
        #expect(await outcome(429, Self.json, text) == .failure(.rateLimited))
        #expect(await outcome(500, Self.json, text) == .failure(.http))
        #expect(await outcome(503, Self.json, text) == .failure(.http))
        #expect(await outcome(404, "text/html", text) == .failure(.http))
        #expect(await outcome(400, "multipart/mixed; boundary=-", text) == .failure(.http))
    }

    /// Each status with each media type and body.
    @Test(arguments: [200, 201, 204, 400, 401, 403, 404, 429, 500, 503])
    func eachResponseHasTheOutcomeOfTheRules(status: Int) async {
        let isAccepted = status < 300
        let statusError: Outcome =
            status == 401 ? .failure(.unauthorized) : .failure(status == 429 ? .rateLimited : .http)
        for body in Self.bodies {
            let isEmpty = body.text.isEmpty
            let refusal: Outcome =
                body.errors > 0 && [400, 403, 404].contains(status) ? .errors(body.errors) : statusError
            let outcomes: [(type: String?, Outcome)] = [
                (Self.graphQL, isAccepted || Self.isWellFormed(body) ? body.accepted : statusError),
                (Self.json, isAccepted ? body.accepted : refusal),
                (nil, isAccepted ? body.accepted : refusal),
                ("text/html", isAccepted ? .failure(isEmpty ? .emptyBody : .decodingFailed) : statusError),
                (
                    "multipart/mixed; boundary=-",
                    isAccepted ? .failure(isEmpty ? .emptyBody : .unsupported) : statusError
                ),
            ]
            for (type, expected) in outcomes {
                #expect(await outcome(status, type, body.text) == expected, "\(body.text) as \(type ?? "nothing")")
            }
        }
    }

    @Test func anotherMediaTypeIsNoGraphQLResponse() async {
        let text = #"{"data":{"name":"R2"}}"#
        #expect(await outcome(200, "text/html", text) == .failure(.decodingFailed))
        #expect(await outcome(200, "multipart/mixed; boundary=\"-\"", "--") == .failure(.unsupported))
    }
}
