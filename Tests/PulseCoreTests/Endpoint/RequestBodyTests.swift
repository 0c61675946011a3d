// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct RequestBodyTests {
    private struct User: Codable, Sendable, Equatable {
        let name: String
    }

    private func json(_ body: RequestBody) throws -> String {
        guard case .json(let value) = body.content else { throw PulseError.emptyBody }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    private func form(_ body: RequestBody) throws -> String {
        guard case .encoded(let encode) = body.content else { throw PulseError.emptyBody }
        return String(decoding: try encode(), as: UTF8.self)
    }

    @Test
    func aJSONBodyTakesValuesAndMixedLiterals() throws {
        #expect(try json(.json(User(name: "Ada"))) == #"{"name":"Ada"}"#)
        #expect(try json(.json(["a": 1, "b": "x"])) == #"{"a":1,"b":"x"}"#)
        #expect(
            try json(.json(["a": [1, "x", nil, true], "b": ["c": 1.5]])) == #"{"a":[1,"x",null,true],"b":{"c":1.5}}"#)
        #expect(try json(.json([1, "x"])) == #"[1,"x"]"#)
        #expect(try json(.json(["a": 1])) == #"{"a":1}"#)
        #expect(try json(.json([1, 2])) == "[1,2]")
        #expect(try json(.json("text")) == #""text""#)
        let value: JSONValue = ["k": "v"]
        #expect(try json(.json(value)) == #"{"k":"v"}"#)
        #expect(RequestBody.json(User(name: "x")).contentType == nil)
    }

    @Test
    func aJSONBodyTakesVariablesOfDifferentTypes() throws {
        let (count, text, user): (Int, String, User) = (3, "x", User(name: "Ada"))
        let (missing, given): (String?, Bool?) = (nil, true)
        #expect(try json(.json(["n": count, "text": text])) == #"{"n":3,"text":"x"}"#)
        let body = RequestBody.json([
            "given": given, "list": [1, 2], "literal": "l", "missing": missing, "nil": nil, "user": user,
        ])
        #expect(
            try json(body)
                == #"{"given":true,"list":[1,2],"literal":"l","missing":null,"nil":null,"user":{"name":"Ada"}}"#)
        #expect(try json(.json([count, text, nil])) == #"[3,"x",null]"#)
    }

    @Test
    func aMixtureInsideAJSONBodyNamesItsType() throws {
        let (count, text): (Int, String) = (3, "x")
        let body = RequestBody.json([
            "a": ["n": count, "t": [text, count] as JSONValue.Literal] as JSONValue.Literal, "b": text,
        ])
        #expect(try json(body) == #"{"a":{"n":3,"t":["x",3]},"b":"x"}"#)
    }

    @Test
    func theLastValueOfARepeatedKeyOfAJSONBodyCounts() throws {
        let (count, text): (Int, String) = (3, "x")
        #expect(try json(.json(["a": count, "b": count, "a": text])) == #"{"a":"x","b":3}"#)
    }

    @Test
    func theEncoderOfTheCallDecidesOnDatesInsideAJSONBodyAndNotOnItsKeys() throws {
        struct Stay: Encodable, Sendable {
            let firstNight: Int
        }
        let (date, stay) = (Date(timeIntervalSince1970: 5), Stay(firstNight: 1))
        let encoder = JSONRequestEncoder {
            $0.dateEncodingStrategy = .secondsSince1970
            $0.keyEncodingStrategy = .convertToSnakeCase
            $0.outputFormatting = .sortedKeys
        }
        guard case .json(let value) = RequestBody.json(["madeAt": date, "stay": stay]).content else {
            Issue.record("the body is JSON")
            return
        }
        let text = String(decoding: try encoder.encode(value), as: UTF8.self)
        #expect(text == #"{"madeAt":5,"stay":{"first_night":1}}"#)
    }

    @Test
    func aFormBodyTakesValuesAndOrderedItems() throws {
        let items = [URLQueryItem(name: "b", value: "1 &"), .init(name: "a", value: "+"), .init(name: "b", value: "2")]
        let body = RequestBody.formURLEncoded(items)
        #expect(try form(body) == "b=1+%26&a=%2B&b=2")
        #expect(body.contentType == "application/x-www-form-urlencoded")
        #expect(try form(.formURLEncoded(User(name: "A B"))) == "name=A+B")
        #expect(try form(.formURLEncoded(["k": "v"])) == "k=v")
    }

    @Test
    func anEncodedBodyShowsItsTypeAndIsNotEncodedForThat() {
        let body = RequestBody.encoded(contentType: "application/x-protobuf") {
            Issue.record("creating or printing the body encodes nothing")
            return Data()
        }
        #expect(body.contentType == "application/x-protobuf")
        #expect("\(body)" == "an encoded application/x-protobuf")
        #expect("\(RequestBody.formURLEncoded(["k": "v"]))" == "an encoded application/x-www-form-urlencoded")
        #expect(body.isReplayable)
    }

    @Test
    func aGraphQLBodyIsJSONWithQueryAndVariables() throws {
        #expect(try json(.graphQL(query: "{ me }")) == #"{"query":"{ me }"}"#)
        #expect(try json(.graphQL(query: "{ me }", variables: nil)) == #"{"query":"{ me }"}"#)
        let none: [String: JSONValue]? = nil
        #expect(try json(.graphQL(query: "{ me }", variables: none)) == #"{"query":"{ me }"}"#)
        let body = RequestBody.graphQL(query: "q", variables: ["id": 7, "tags": ["a"]])
        #expect(try json(body) == #"{"query":"q","variables":{"id":7,"tags":["a"]}}"#)
    }

    @Test
    func bytesTextFilesAndStreamsHaveAContentType() {
        #expect(RequestBody.data(Data([1])).contentType == "application/octet-stream")
        #expect(RequestBody.data(Data([1]), contentType: "image/png").contentType == "image/png")
        #expect(RequestBody.text("\u{FC}").contentType == "text/plain; charset=utf-8")
        guard case .data(let bytes) = RequestBody.text("\u{FC}").content else {
            Issue.record("text is bytes")
            return
        }
        #expect(bytes == Data([0xC3, 0xBC]))
        let file = URL(fileURLWithPath: "/tmp/x")
        #expect(RequestBody.file(file).contentType == "application/octet-stream")
        #expect(RequestBody.file(file, contentType: "video/mp4").contentType == "video/mp4")
        #expect(RequestBody.stream { ByteStream([]) }.contentType == "application/octet-stream")
        #expect(RequestBody.none.contentType == nil)
    }

    @Test
    func everyBodyExceptAOneShotStreamIsReplayable() {
        let file = URL(fileURLWithPath: "/tmp/x")
        let parts = MultipartFormData(parts: [.init(name: "f", file: file)])
        let replayable: [RequestBody] = [
            .none, .json(1), .formURLEncoded(["a": "b"]), .multipart(parts), .graphQL(query: "q"), .data(Data()),
            .text(""), .file(file), .stream { ByteStream([]) }, .stream(length: 3) { ByteStream([]) },
        ]
        for body in replayable { #expect(body.isReplayable) }
        #expect(!RequestBody.stream(isOneShot: true) { ByteStream([]) }.isReplayable)
    }

    @Test
    func everyBodySourceExceptAOneShotStreamIsReplayable() {
        #expect(PluginContext.Body.inRequest.isReplayable)
        #expect(PluginContext.Body.file(URL(fileURLWithPath: "/tmp/x")).isReplayable)
        #expect(PluginContext.Body.stream(RequestBody.Stream(length: nil) { ByteStream([]) }).isReplayable)
        #expect(
            !PluginContext.Body.stream(RequestBody.Stream(length: 1, isOneShot: true) { ByteStream([]) }).isReplayable)
    }
}
