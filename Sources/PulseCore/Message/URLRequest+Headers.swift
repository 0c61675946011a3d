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
        allHTTPHeaderFields = all
        #endif
    }
}
