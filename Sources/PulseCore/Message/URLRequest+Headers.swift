// SPDX-License-Identifier: MIT

extension URLRequest {
    // Foundation's own lookup on Linux makes a lower-case copy of each name.
    /// The value of a header field; the name is found in any case.
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
    /// It takes any value. Foundation's `setValue` on Linux silently drops a field with a line break in it, so that the
    /// wire, which refuses such a field, would never see it. It also looks at every character.
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
    /// A copy with these fields and everything else the same, except `httpShouldUsePipelining`, which is deprecated and
    /// read by nobody.
    ///
    /// Changing a request means copying it, since the caller holds it too. Foundation's copy sets the method, and the
    /// setter compares it with the standard ones, which takes longer than everything else. A new request is a GET
    /// already. It would make a relative URL absolute.
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
