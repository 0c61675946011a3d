// SPDX-License-Identifier: MIT

import PulseCore
import PulseSockets
import TestSupport
import Testing

/// The negotiation of permessage-deflate (RFC 6455, section 9.1; RFC 7692, sections 5 and 7.1).
@Suite(.throttled)
struct DeflateParametersTests {
    private static func parameters(
        server: Int? = nil, client: Int? = nil, forgets: (server: Bool, client: Bool) = (false, false)
    ) -> DeflateParameters {
        var parameters = DeflateParameters()
        parameters.serverMaxWindowBits = server
        parameters.clientMaxWindowBits = client
        (parameters.serverNoContextTakeover, parameters.clientNoContextTakeover) = forgets
        return parameters
    }

    // MARK: A client

    @Test func theOfferLeavesTheServerEveryChoice() {
        #expect(DeflateParameters.offer == "permessage-deflate; client_max_window_bits")
    }

    @Test(arguments: [
        ("permessage-deflate", parameters()),
        ("Permessage-Deflate", parameters()),
        ("permessage-deflate; server_no_context_takeover", parameters(forgets: (true, false))),
        ("permessage-deflate; client_no_context_takeover", parameters(forgets: (false, true))),
        ("permessage-deflate; Client_No_Context_Takeover", parameters(forgets: (false, true))),
        (
            "permessage-deflate;client_no_context_takeover;server_no_context_takeover",
            parameters(forgets: (true, true))
        ),
        ("permessage-deflate; server_max_window_bits=8", parameters(server: 8)),
        ("permessage-deflate; server_max_window_bits=10", parameters(server: 10)),
        ("permessage-deflate; server_max_window_bits=15", parameters(server: 15)),
        ("permessage-deflate; client_max_window_bits=8", parameters(client: 8)),
        ("permessage-deflate; client_max_window_bits=15", parameters(client: 15)),
        ("permessage-deflate; client_max_window_bits=\"9\"", parameters(client: 9)),
        ("permessage-deflate; server_max_window_bits=\"1\\1\"", parameters(server: 11)),
        (
            "permessage-deflate ;\tserver_max_window_bits = 12 ; client_max_window_bits=13",
            parameters(server: 12, client: 13)
        ),
        (" , permessage-deflate , ,", parameters()),
        (
            "permessage-deflate; client_max_window_bits=9; server_no_context_takeover; server_max_window_bits=14; "
                + "client_no_context_takeover", parameters(server: 14, client: 9, forgets: (true, true))
        ),
    ])
    func aClientReadsAResponse(field: String, expected: DeflateParameters) throws {
        #expect(try DeflateParameters.accepted(by: field, isOffered: true) == expected)
        #expect(throws: SocketExtension.Failure.self) { try DeflateParameters.accepted(by: field, isOffered: false) }
    }

    @Test func noResponseIsNoCompression() throws {
        #expect(try DeflateParameters.accepted(by: nil, isOffered: true) == nil)
        #expect(try DeflateParameters.accepted(by: nil, isOffered: false) == nil)
    }

    @Test(
        arguments: malformed + [
            "x-webkit-deflate-frame", "permessage-bzip2", "permessage-deflate2", "permessage",
            "permessage-deflate, permessage-deflate", "permessage-deflate, x-other", "x-other, permessage-deflate",
            "permessage-deflate; client_max_window_bits", "permessage-deflate; server_max_window_bits",
            "permessage-deflate; client_max_window_bits=7", "permessage-deflate; client_max_window_bits=16",
            "permessage-deflate; server_max_window_bits=7", "permessage-deflate; server_max_window_bits=16",
            "permessage-deflate; server_max_window_bits=0", "permessage-deflate; server_max_window_bits=-9",
            "permessage-deflate; server_max_window_bits=+9", "permessage-deflate; server_max_window_bits=09",
            "permessage-deflate; server_max_window_bits=\"08\"", "permessage-deflate; server_max_window_bits=1e1",
            "permessage-deflate; server_max_window_bits=0x9", "permessage-deflate; server_max_window_bits=9.0",
            "permessage-deflate; server_max_window_bits=18446744073709551625",
            "permessage-deflate; server_no_context_takeover=1", "permessage-deflate; client_no_context_takeover=true",
            "permessage-deflate; client_no_context_takeover=\"yes\"", "permessage-deflate; unknown",
            "permessage-deflate; unknown=1", "permessage-deflate; server_max_window_bit=10",
            "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
            "permessage-deflate; server_no_context_takeover; Server_No_Context_Takeover",
            "permessage-deflate; client_max_window_bits=10; client_max_window_bits=10",
            "permessage-deflate; server_max_window_bits=10; server_max_window_bits=11",
        ])
    func aClientRejectsAResponse(field: String) {
        #expect(throws: SocketExtension.Failure.self) { try DeflateParameters.accepted(by: field, isOffered: true) }
    }

    // MARK: The grammar

    private static let malformed = [
        "", " ", ",", " , ,", ";", "=", "\"\"", "permessage-deflate;", "permessage-deflate; ;", "; permessage-deflate",
        "permessage-deflate; , x", "permessage-deflate x", "permessage-deflate server_no_context_takeover",
        "permessage-deflate=1", "permessage-deflate; =10", "permessage-deflate; server_max_window_bits=",
        "permessage-deflate; server_max_window_bits=\"\"", "permessage-deflate; server_max_window_bits=\"10",
        "permessage-deflate; server_max_window_bits=\"10\\", "permessage-deflate; server_max_window_bits=\"10\\\"",
        "permessage-deflate; server_max_window_bits=\"1 0\"", "permessage-deflate; server_max_window_bits=10\"",
        "permessage-deflate; server_max_window_bits=\"10\"1", "permessage-deflate; server_max_window_bits=10 11",
        "permessage-deflate; server_max_window_bits==10", "permessage-deflate; server_max_window_bits=(10)",
        "permessage-deflate; \"server_max_window_bits\"=10", "\"permessage-deflate\"", "permessage/deflate",
        "permessage-deflate\u{0}", "permessage-deflate; caf\u{E9}", "permessage-deflate\r\n",
        "permessage-deflate; a=\"\u{E9}\"",
        "permessage-deflate; a=b=c", "permessage-deflate; a:b", "permessage-deflate, \"",
    ]

    /// The handshake must fail, although another offer is valid.
    @Test(arguments: malformed)
    func aServerRejectsMalformedOffers(field: String) {
        #expect(throws: SocketExtension.Failure.self) { try DeflateParameters.chosen(from: field) }
        if field.contains(where: { $0.isLetter }) {
            #expect(throws: SocketExtension.Failure.self) {
                try DeflateParameters.chosen(from: "permessage-deflate, " + field)
            }
        }
    }

    // MARK: A server

    @Test(arguments: [
        ("permessage-deflate", "permessage-deflate"),
        ("permessage-deflate; client_max_window_bits", "permessage-deflate"),
        ("permessage-deflate; client_max_window_bits=10", "permessage-deflate; client_max_window_bits=10"),
        ("permessage-deflate; client_max_window_bits=8", "permessage-deflate; client_max_window_bits=8"),
        ("permessage-deflate; server_max_window_bits=8", "permessage-deflate; server_max_window_bits=8"),
        ("permessage-deflate; server_max_window_bits=15", "permessage-deflate; server_max_window_bits=15"),
        ("permessage-deflate; server_no_context_takeover", "permessage-deflate; server_no_context_takeover"),
        ("permessage-deflate; client_no_context_takeover", "permessage-deflate; client_no_context_takeover"),
        ("x-other; a=b, permessage-deflate", "permessage-deflate"),
        (
            "permessage-deflate; server_max_window_bits=10, permessage-deflate",
            "permessage-deflate; server_max_window_bits=10"
        ),
        ("permessage-deflate; server_max_window_bits, permessage-deflate", "permessage-deflate"),
        (
            "permessage-deflate; server_max_window_bits=16, permessage-deflate; client_max_window_bits=9",
            "permessage-deflate; client_max_window_bits=9"
        ),
        ("permessage-deflate; unknown; server_no_context_takeover, permessage-deflate", "permessage-deflate"),
        (
            "permessage-deflate; client_max_window_bits; client_max_window_bits, permessage-deflate",
            "permessage-deflate"
        ),
        ("permessage-deflate; client_no_context_takeover=1, permessage-deflate", "permessage-deflate"),
        (
            "permessage-deflate; server_max_window_bits=\"9\";client_max_window_bits ;server_no_context_takeover; "
                + "client_no_context_takeover",
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=9"
        ),
    ])
    func aServerAcceptsTheFirstValidOffer(field: String, response: String) throws {
        let chosen = try #require(try DeflateParameters.chosen(from: field))
        #expect(chosen.response == response)
        #expect(try DeflateParameters.accepted(by: response, isOffered: true) == chosen)
    }

    @Test(arguments: [
        "x-other", "permessage-deflate; unknown", "permessage-deflate; client_max_window_bits=7",
        "permessage-deflate; client_max_window_bits=16", "permessage-deflate; server_max_window_bits",
        "permessage-deflate; server_max_window_bits=08", "permessage-deflate; server_no_context_takeover=1",
        "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
        "permessage-deflate; unknown, x-other, permessage-deflate; server_max_window_bits=99",
    ])
    func aServerDeclinesInvalidOffers(field: String) throws {
        #expect(try DeflateParameters.chosen(from: field) == nil)
        #expect(try DeflateParameters.chosen(from: nil) == nil)
    }

    @Test func aServerLowersTheLimits() throws {
        let preferred = Self.parameters(server: 12, client: 11, forgets: (true, true))
        func response(_ field: String) throws -> String? {
            try DeflateParameters.chosen(from: field, preferring: preferred)?.response
        }
        let forgets = "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
        // The client's window may only be named if the client has.
        #expect(try response("permessage-deflate") == forgets + "server_max_window_bits=12")
        #expect(
            try response("permessage-deflate; client_max_window_bits")
                == forgets + "server_max_window_bits=12; client_max_window_bits=11")
        #expect(
            try response("permessage-deflate; client_max_window_bits=10; server_max_window_bits=9")
                == forgets + "server_max_window_bits=9; client_max_window_bits=10")
        #expect(
            try response("permessage-deflate; client_max_window_bits=15; server_max_window_bits=15")
                == forgets + "server_max_window_bits=12; client_max_window_bits=11")
    }
}
