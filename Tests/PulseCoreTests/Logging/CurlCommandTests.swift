// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct CurlCommandTests {
    private static let json = ["Content-Type": "application/json"]

    @Test func aCommandShowsTheRequestWithItsSecretsMasked() {
        let request = URLRequest.mock(
            .post, "https://ada:hunter2@api.example.com/login?access_token=hunter2&page=1",
            headers: ["Content-Type": "application/json", "Authorization": "Bearer hunter2", "X-Note": "it's"],
            body: Data(#"{"password":"hunter2","user":"ada"}"#.utf8))
        #expect(
            request.curlCommand() == #"""
                curl 'https://***REDACTED***@api.example.com/login?access_token=***REDACTED***&page=1' \
                  -X 'POST' \
                  -H 'Authorization: ***REDACTED***' \
                  -H 'Content-Type: application/json' \
                  -H 'X-Note: it'\''s' \
                  --data-raw '{"password":"***REDACTED***","user":"ada"}'
                """#)
    }

    @Test(arguments: [("gzip, br", "--compressed"), ("identity", "-H 'Accept-Encoding: identity'")])
    func compressedIsUsedOnlyIfTheRequestAcceptsCodings(value: String, option: String) {
        let command = URLRequest.mock(headers: ["Accept-Encoding": value]).curlCommand()
        #expect(command.hasSuffix(option))
        #expect(command.contains("--compressed") == (value != "identity"))
    }

    @Test(arguments: [
        ("https://h.example/v1/../admin", true), ("https://h.example/v1/%2e%2e/admin", true),
        ("https://h.example/v1/a..b?q=/../c", false),
    ])
    func dotSegmentsNeedPathAsIs(url: String, isAsItIs: Bool) {
        #expect(URLRequest.mock(.get, url).curlCommand().hasPrefix("curl --path-as-is '") == isAsItIs)
    }

    @Test func withoutRedactionSecretsAreShown() {
        let request = URLRequest.mock(headers: ["Authorization": "Bearer hunter2"])
        #expect(request.curlCommand(redaction: nil).contains("Bearer hunter2"))
        #expect(request.curlCommand(redaction: .init(secretHeaders: ["X-A"])).contains("***REDACTED***"))
    }

    @Test func aBinaryBodyIsNamedByItsSizeOnly() {
        func option(_ request: URLRequest, _ body: PluginContext.Body = .inRequest) -> String? {
            request.curlCommand(body: body, maxBodyLength: 10).components(separatedBy: " \\\n  ")
                .first { $0.hasPrefix("--data") }
        }
        let post = URLRequest.mock(.post)
        #expect(option(post) == nil)
        #expect(option(.mock(.post, body: Data())) == nil)
        #expect(option(.mock(.post, body: Data([0, 1, 2]))) == "--data-binary '@body-of-3-bytes'")
        #expect(option(.mock(.post, body: Data([0xFF, 0xFE]))) == "--data-binary '@body-of-2-bytes'")
        #expect(option(.mock(.post, body: Data("01234567890".utf8))) == "--data-binary '@body-of-11-bytes'")
        let coded = URLRequest.mock(.post, headers: ["Content-Encoding": "gzip"], body: Data("abc".utf8))
        #expect(option(coded) == "--data-binary '@body-of-3-bytes'")
        #expect(option(post, .file(URL(fileURLWithPath: "/home/ada/diary.txt"))) == "--data-binary '@file'")
        let stream = RequestBody.Stream(length: 7) { ByteStream([]) }
        #expect(option(post, .stream(stream)) == "--data-binary '@stream-of-7-bytes'")
    }

    @Test func headersThatCannotBeSentAreOmitted() {
        // With a name that starts with `@`, curl would send a file of the person who pastes the command.
        let command = URLRequest.mock(headers: ["@/etc/passwd": "", "X-A": "a\r\nX-B: b", "X-Empty": ""]).curlCommand()
        #expect(!command.contains("passwd"))
        #expect(!command.contains("X-B"))
        #expect(command.hasSuffix("-H 'X-Empty;'"))
    }

    #if !canImport(UIKit)
    @Test(
        .enabled(if: Shell.hasCurl),
        arguments: [
            URLRequest.mock(
                .get, "/plain?a=1&b=it's%20[x]{y}$HOME", headers: ["X-Note": "a\"b`c$d\\e!f", "X-Empty": ""]),
            .mock(.head, "/head"),
            .mock(.delete, "/delete"),
            .mock(.post, "/json", headers: json, body: Data(#"{"a":"it's \"$HOME\" `id` \\ ! é"}"#.utf8)),
            .mock(.post, "/file", headers: json, body: Data("@/etc/hostname".utf8)),
            .mock(.post, "/lines", headers: json, body: Data("\u{1B}[2K50%\r\n-n\n\u{202E}x\n\n".utf8)),
            .mock(.patch, "/untyped", body: Data("-a=1&b=2".utf8)),
        ])
    func curlSendsTheSameRequest(request: URLRequest) async throws {
        try await MockServer.run { server in
            server.fallback { _ in .status(204) }
            var request = request
            let target = try #require(
                request.url?.absoluteString.replacingOccurrences(
                    of: "https://api.example.com", with: "http://127.0.0.1:\(server.port)"))
            request.url = URL(string: target)
            _ = try await Shell.output(
                of: request.curlCommand(redaction: nil) + " \\\n  --silent --max-time 100 --noproxy '*'")
            let sent = try #require(server.requests.first)
            #expect(sent.method.rawValue == request.httpMethod)
            #expect(target.hasSuffix(sent.target))
            #expect(sent.body == request.httpBody ?? Data())
            for (name, value) in request.allHTTPHeaderFields ?? [:] {
                #expect(sent.headers[name] == value)
            }
            if request.allHTTPHeaderFields?["Content-Type"] == nil { #expect(sent.headers["Content-Type"] == nil) }
        }
    }
    #endif

    /// curl omits a header with only blanks after the colon.
    @Test(arguments: ["", " ", " \t "])
    func aBlankHeaderIsKept(value: String) {
        let command = URLRequest.mock(headers: ["X-Empty": value]).curlCommand()
        #expect(command.hasSuffix("-H 'X-Empty;'"))
    }
}
