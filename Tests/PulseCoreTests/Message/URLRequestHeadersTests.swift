// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct URLRequestHeadersTests {
    @Test(arguments: ["GET", "POST", "get"])
    func settingAFieldLeavesTheRestUnchanged(method: String) throws {
        let url = try #require(URL(string: "https://a.example/b?c=d#e"))
        var request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 7)
        request.httpMethod = method
        request.httpBody = Data("body".utf8)
        request.mainDocumentURL = URL(string: "https://main.example")
        request.networkServiceType = .background
        request.allowsCellularAccess = false
        request.httpShouldHandleCookies = false
        request.allHTTPHeaderFields = ["accept": "a", "Kept": "k", "Dropped": "d"]
        let before = request
        request.setHeaders([("Accept", "b"), ("Dropped", nil), ("New", "n")])
        #expect(request.allHTTPHeaderFields == ["Accept": "b", "Kept": "k", "New": "n"])
        #expect(request.url == url)
        #expect(request.cachePolicy == .reloadIgnoringLocalCacheData)
        #expect(request.timeoutInterval == 7)
        #expect(request.httpMethod == before.httpMethod)
        #expect(request.httpBody == Data("body".utf8))
        #expect(request.mainDocumentURL == URL(string: "https://main.example"))
        #expect(request.networkServiceType == .background)
        #expect(!request.allowsCellularAccess)
        #expect(!request.httpShouldHandleCookies)
        #expect(before.allHTTPHeaderFields == ["accept": "a", "Kept": "k", "Dropped": "d"])
    }

    @Test func settingAFieldKeepsABodyStream() throws {
        var request = URLRequest(url: try #require(URL(string: "https://a.example")))
        request.httpBodyStream = InputStream(data: Data("body".utf8))
        request.setHeader("New", to: "n")
        #expect(request.httpBodyStream != nil)
        #expect(request.header("new") == "n")
    }

    @Test(arguments: ["GET", "POST"])
    func settingAFieldKeepsARelativeURLRelative(method: String) throws {
        let url = try #require(URL(string: "c?d", relativeTo: URL(string: "https://a.example/x/")))
        var request = URLRequest(url: try #require(URL(string: "https://b.example")))
        request.httpMethod = method
        request.url = url
        request.setHeader("New", to: "n")
        #expect(request.url == url)
        #expect(request.url?.relativeString == "c?d")
    }
}
