// SPDX-License-Identifier: MIT

import PulseCore

/// The default header fields of a client, including `Accept`. The fields of an endpoint take precedence.
///
/// The two common dictionaries are built once: a request that adds no field allocates no dictionary.
struct DefaultHeaders: Sendable {
    private let fields: [String: String]
    private let decoded: (accept: String, fields: [String: String])
    private let anything: [String: String]

    /// - Parameter decoder: the client's decoder, whose content type most requests accept.
    init(_ fields: [String: String], decoder: any ResponseDecoder) {
        self.fields = fields
        decoded = (decoder.contentType, fields.accepting(decoder.contentType).withSpareCapacity)
        anything = fields.accepting("*/*").withSpareCapacity
    }

    /// The fields with this `Accept`, unless the configuration sets one.
    func fields(accept type: String) -> [String: String] {
        switch type {
        case decoded.accept: decoded.fields
        case "*/*": anything
        default: fields.accepting(type)
        }
    }
}

extension PulseConfiguration {
    /// The default fields of every request, except `Accept`.
    var headersOfEveryRequest: [String: String] {
        var fields = ["User-Agent": UserAgent.standard]
        fields["Accept-Language"] = AcceptLanguage.standard
        return fields.overridden(by: defaultHeaders)
    }
}

extension [String: String] {
    /// The fields with this `Accept`, unless they already have one.
    func accepting(_ type: String) -> [String: String] {
        header("Accept") == nil ? merging(["Accept": type]) { own, _ in own } : self
    }

    /// A copy with spare capacity for plugins: growing would rehash all names in each request.
    fileprivate var withSpareCapacity: Self {
        var copy = self
        copy.reserveCapacity(count + 8)
        return copy
    }
}
