// SPDX-License-Identifier: MIT

extension URLRequest {
    /// The value of a header field, its name in any case.
    // Foundation's own lookup on Linux makes a lower-case copy of each name.
    package func header(_ name: String) -> String? {
        allHTTPHeaderFields?.header(name)
    }

    package mutating func setHeader(_ name: String, to value: String?) {
        #if canImport(Darwin)
        setValue(value, forHTTPHeaderField: name)
        #else
        setHeaders([(name, value)])
        #endif
    }

    /// Sets several fields at once; nil removes one.
    ///
    /// Whatever the values are: on Linux Foundation's `setValue` drops a field with a line break in it without a word, and
    /// the wire, which refuses such a field, would never see it. It also looks at each character.
    package mutating func setHeaders(_ fields: [(name: String, value: String?)]) {
        #if canImport(Darwin)
        for (name, value) in fields { setValue(value, forHTTPHeaderField: name) }
        #else
        var all = allHTTPHeaderFields ?? [:]
        for (name, value) in fields { all.setHeader(name, to: value) }
        self = replacingHeaders(by: all)
        #endif
    }

    #if !canImport(Darwin)
    /// A request with these fields and all else the same, but for the wish to pipeline: it is deprecated, and nobody reads it.
    ///
    /// To change a request is to copy it, as whoever handed it on holds it too. Foundation's copy sets the method, and the
    /// setter collates it with the standard ones: that takes longer than all the rest. A new request is a GET already. It
    /// would make a relative URL absolute.
    private func replacingHeaders(by fields: [String: String]) -> URLRequest {
        guard let url, url.baseURL == nil, httpMethod == "GET", httpBodyStream == nil else {
            var copy = self
            copy.allHTTPHeaderFields = fields
            return copy
        }
        var new = URLRequest(url: url, cachePolicy: cachePolicy, timeoutInterval: timeoutInterval)
        new.allHTTPHeaderFields = fields
        if let httpBody { new.httpBody = httpBody }
        if let mainDocumentURL { new.mainDocumentURL = mainDocumentURL }
        if networkServiceType != .default { new.networkServiceType = networkServiceType }
        if !allowsCellularAccess { new.allowsCellularAccess = false }
        if !httpShouldHandleCookies { new.httpShouldHandleCookies = false }
        return new
    }
    #endif
}
