// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct RequestOptionsTests {
    /// Every field with two values that identify the options of a merged field. Add each new field here.
    private static let fields:
        [(String, @Sendable (inout RequestOptions, Bool) -> Void, @Sendable (RequestOptions) -> Bool)] = [
            ("timeout", { $0.timeout = $1 ? 1 : 2 }, { $0.timeout == 1 }),
            ("connectTimeout", { $0.connectTimeout = $1 ? 1 : 2 }, { $0.connectTimeout == 1 }),
            ("poolTimeout", { $0.poolTimeout = $1 ? 1 : 2 }, { $0.poolTimeout == 1 }),
            ("deadline", { $0.deadline = $1 ? 1 : 2 }, { $0.deadline == 1 }),
            ("retry", { $0.retry = RetryPolicy(maxAttempts: $1 ? 11 : 12) }, { $0.retry?.maxAttempts == 11 }),
            ("auth", { $0.auth = $1 ? .required : .anonymous }, { $0.auth == .required }),
            ("cache", { $0.cache = $1 ? .reload : .onlyIfCached }, { $0.cache == .reload }),
            ("coalesces", { $0.coalesces = $1 }, { $0.coalesces == true }),
            ("idempotencyKey", { $0.idempotencyKey = $1 ? "a" : .automatic }, { $0.idempotencyKey == .value("a") }),
            ("tag", { $0.tag = $1 ? "a" : "b" }, { $0.tag == "a" }),
            ("route", { $0.route = $1 ? "a" : "b" }, { $0.route == "a" }),
            ("priority", { $0.priority = $1 ? .high : .low }, { $0.priority == .high }),
            ("acceptedStatuses", { $0.acceptedStatuses = $1 ? .any : .only(1) }, { $0.acceptedStatuses == .any }),
            ("decoder", { $0.decoder = Marked(isFirst: $1) }, { ($0.decoder as? Marked)?.isFirst == true }),
            ("encoder", { $0.encoder = Marked(isFirst: $1) }, { ($0.encoder as? Marked)?.isFirst == true }),
            (
                "redirectPolicy", { $0.redirectPolicy = $1 ? .refuse : .default },
                { $0.redirectPolicy?.follows == false }
            ),
            (
                "maxBufferedBodySize", { $0.maxBufferedBodySize = $1 ? 1 : 2 },
                { $0.maxBufferedBodySize == 1 }
            ),
            ("queuesBehindPending", { $0.queuesBehindPending = $1 }, { $0.queuesBehindPending == true }),
            ("progress", { $0.progress = Heard.closure(adds: $1) }, { Heard.isFilled(by: $0.progress) }),
            ("waitsForConnectivity", { $0.waitsForConnectivity = $1 }, { $0.waitsForConnectivity == true }),
            (
                "allowsExpensiveNetworkAccess", { $0.allowsExpensiveNetworkAccess = $1 },
                { $0.allowsExpensiveNetworkAccess == true }
            ),
            (
                "allowsConstrainedNetworkAccess", { $0.allowsConstrainedNetworkAccess = $1 },
                { $0.allowsConstrainedNetworkAccess == true }
            ),
            ("assumesHTTP3Capable", { $0.assumesHTTP3Capable = $1 }, { $0.assumesHTTP3Capable == true }),
            (
                "networkServiceType", { $0.networkServiceType = $1 ? .video : .voice },
                { $0.networkServiceType == .video }
            ),
        ]

    private func options(_ isFirst: Bool, except left: String? = nil) -> RequestOptions {
        var options = RequestOptions()
        for (name, set, _) in Self.fields where name != left { set(&options, isFirst) }
        return options
    }

    @Test
    func aClosureSetsOptions() {
        let options = RequestOptions {
            $0.deadline = 5
            $0.tag = "feed"
        }
        #expect(options.deadline == 5 && options.tag == "feed" && options.timeout == nil)
        #expect(RequestOptions { _ in }.timeout == nil)
    }

    @Test
    func theTableOfFieldsIsComplete() {
        let all = Mirror(reflecting: RequestOptions()).children.compactMap(\.label)
        #expect(Set(all) == Set(Self.fields.map(\.0) + ["headers"]))
        #expect(Set(options(true).setFields) == Set(Self.fields.map(\.0)))
    }

    @Test
    func newOptionsAreEmpty() {
        #expect(RequestOptions().setFields.isEmpty)
    }

    @Test
    func setFieldsOverrideAndNilFieldsInherit() {
        let base = options(false)
        for (name, _, isFirst) in Self.fields {
            let merged = options(true, except: name).over(base)
            #expect(merged.setFields.count == Self.fields.count)
            #expect(!isFirst(merged), "\(name) comes from the base")
            for (other, _, isFirst) in Self.fields where other != name {
                #expect(isFirst(merged), "\(other) keeps its own value")
            }
        }
    }

    @Test
    func mergingWithEmptyOptionsChangesNothing() {
        for (name, _, isFirst) in Self.fields {
            #expect(isFirst(RequestOptions().over(options(true))), "\(name)")
            #expect(isFirst(options(true).over(RequestOptions())), "\(name)")
        }
    }

    @Test
    func headersAreMergedByCaseInsensitiveName() {
        var (inner, outer) = (RequestOptions(), RequestOptions())
        inner.headers = ["x-a": "inner", "X-B": "inner"]
        #expect(inner.over(outer).headers == inner.headers)
        outer.headers = ["X-A": "outer", "X-C": "outer"]
        #expect(inner.over(outer).headers == ["x-a": "inner", "X-B": "inner", "X-C": "outer"])
        #expect(RequestOptions().over(outer).headers == outer.headers)
    }

    @Test
    func theReadmesOptionsCompile() {
        var options = RequestOptions().with(\.tag, value: "feed").with(\.idempotencyKey, value: "key-1")
        #expect(options.tag == "feed")
        #expect(options.idempotencyKey == .value("key-1"))
        options.retry = .never
        #expect(options.retry?.maxAttempts == 1)
        options.acceptedStatuses = .successful(and: 304)
        options.auth = .anonymous
        options.cache = .default
        #expect(options.cache == .default)
        options.redirectPolicy = .custom { _, proposed in proposed }
        #expect(options.redirectPolicy?.follows == true)
    }

    @Test
    func dictionaryHeadersAreCaseInsensitive() {
        var headers = ["content-type": "a", "X": "1"]
        #expect(headers.header("Content-Type") == "a")
        headers.setHeader("Content-Type", to: "b")
        #expect(headers == ["Content-Type": "b", "X": "1"])
        headers.setHeader("CONTENT-TYPE", to: nil)
        #expect(headers == ["X": "1"])
        headers.setHeader("Missing", to: nil)
        #expect(headers == ["X": "1"])
        #expect(headers.header("Missing") == nil)
    }

    @Test
    func settingAHeaderRemovesItsOtherSpellings() {
        var headers = ["accept": "1", "ACCEPT": "2", "Accept": "3"]
        headers.setHeader("Accept", to: "4")
        #expect(headers == ["Accept": "4"])
        headers = ["accept": "1", "ACCEPT": "2"]
        headers.setHeader("Accept", to: nil)
        #expect(headers.isEmpty)
    }
}

/// Tells closures apart: the first adds what it gets, the second does not.
private enum Heard {
    private static let all = Locked<Set<Int64>>([])

    static func closure(adds: Bool) -> @Sendable (TransferProgress) -> Void {
        { progress in
            if adds { all.withLock { _ = $0.insert(progress.completed) } }
        }
    }

    static func isFilled(by closure: (@Sendable (TransferProgress) -> Void)?) -> Bool {
        let number = Int64.random(in: .min...(.max))
        closure?(TransferProgress(completed: number, total: nil))
        return all.withLock { $0.contains(number) }
    }
}

private struct Marked: ResponseDecoder, RequestEncoder {
    let isFirst: Bool

    var contentType: String { "x/y" }

    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        throw PulseError.emptyBody
    }

    func encode(_ value: some Encodable) throws -> Data { Data() }
}

extension RequestOptions {
    fileprivate func over(_ base: RequestOptions) -> RequestOptions {
        var merged = self
        merged.inherit(base)
        return merged
    }

    /// The names of the fields that are not nil.
    var setFields: [String] {
        Mirror(reflecting: self).children.compactMap { child in
            let mirror = Mirror(reflecting: child.value)
            return mirror.displayStyle == .optional && mirror.children.isEmpty ? nil : child.label
        }
    }
}

extension RedirectPolicy {
    fileprivate var follows: Bool {
        guard let redirect = try? PulseResponse(statusCode: 302, headers: ["Location": "/x"], request: request()) else {
            return false
        }
        if case .follow = decision(for: redirect, hop: 0, isBodyReplayable: true) { return true }
        return false
    }
}
