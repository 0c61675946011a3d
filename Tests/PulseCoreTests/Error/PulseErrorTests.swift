// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

/// The catch clauses of an app, as in the design.
@Suite(.throttled)
struct PulseErrorTests {
    private struct Other: Error {}

    private func caught(_ error: any Error) -> String {
        do {
            throw error
        } catch PulseError.unauthorized {
            return "unauthorized"
        } catch PulseError.rateLimited(let retryAfter) {
            return "rate limited \(retryAfter ?? 0)"
        } catch PulseError.decodingFailed(let type, _) {
            return "no \(type)"
        } catch PulseError.http(let response) where response.statusCode == 404 {
            return "not found"
        } catch PulseError.transport(.cannotFindHost, _) {
            return "no such host"
        } catch PulseError.deadlineExceeded(last: .rateLimited?) {
            return "deadline after a limit"
        } catch PulseError.deadlineExceeded {
            return "deadline"
        } catch let error as PulseError {
            switch error {
            case .noConnection: return "offline"
            case .timeout, .cancelled: return "gone"
            case .graphQL(let errors): return "graphql \(errors.count)"
            default: return "other \(error.kind)"
            }
        } catch {
            return "foreign"
        }
    }

    @Test
    func catchClausesOfTheReadmeMatch() throws {
        #expect(caught(PulseError.unauthorized()) == "unauthorized")
        #expect(caught(PulseError.unauthorized(SampleErrors.response(401))) == "unauthorized")
        #expect(caught(PulseError.rateLimited(retryAfter: 2)) == "rate limited 2.0")
        #expect(caught(PulseError.rateLimited(retryAfter: nil)) == "rate limited 0.0")
        #expect(caught(PulseError.decodingFailed(type: "User", underlying: Other())) == "no User")
        #expect(caught(PulseError.http(SampleErrors.response(404))) == "not found")
        #expect(caught(PulseError.http(SampleErrors.response(500))) == "other http")
        #expect(caught(PulseError.transport(.cannotFindHost, underlying: Other())) == "no such host")
        #expect(caught(PulseError.transport(.timedOut, underlying: Other())) == "other transport")
        #expect(caught(PulseError.deadlineExceeded(last: .rateLimited(retryAfter: nil))) == "deadline after a limit")
        #expect(caught(PulseError.deadlineExceeded(last: nil)) == "deadline")
        #expect(caught(PulseError.noConnection) == "offline")
        #expect(caught(PulseError.timeout(SampleErrors.request)) == "gone")
        #expect(caught(PulseError.cancelled) == "gone")
        #expect(caught(PulseError.graphQL([])) == "graphql 0")
        #expect(caught(Other()) == "foreign")
    }

    @Test
    func unauthorizedCarriesItsResponse() {
        do {
            throw PulseError.unauthorized(SampleErrors.response(401, ["WWW-Authenticate": "Bearer"]))
        } catch PulseError.unauthorized(let response) {
            #expect(response?.headers["www-authenticate"] == "Bearer")
        } catch {
            Issue.record(error)
        }
    }

    @Test
    func graphQLErrorsDecodeWithOptionalFields() throws {
        let full = #"{"message":"m","locations":[{"line":1,"column":2}],"path":["a",0],"extensions":{"code":"X"}}"#
        let error = try JSONDecoder().decode(GraphQLError.self, from: Data(full.utf8))
        #expect(
            error
                == GraphQLError(
                    message: "m", locations: [.init(line: 1, column: 2)], path: ["a", 0], extensions: ["code": "X"]))
        #expect(try JSONDecoder().decode(GraphQLError.self, from: JSONEncoder().encode(error)) == error)
        let bare = try JSONDecoder().decode(GraphQLError.self, from: Data(#"{"message":"m","path":null}"#.utf8))
        #expect(bare == GraphQLError(message: "m"))
        for text in ["{}", #"{"message":1}"#, "null", "[]", "7"] {
            let other = try JSONDecoder().decode(GraphQLError.self, from: Data(text.utf8))
            #expect(other == GraphQLError(message: ""), "\(text)")
        }
        #expect(try JSONDecoder().decode(GraphQLError.self, from: Data(#""m""#.utf8)) == GraphQLError(message: "m"))
    }
}
