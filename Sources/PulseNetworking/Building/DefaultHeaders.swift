// SPDX-License-Identifier: MIT

import PulseCore

/// The header fields that a client puts under those of each endpoint, with an `Accept` among them.
///
/// The two usual dictionaries are made once: a request that adds nothing to them costs no dictionary of its own.
struct DefaultHeaders: Sendable {
    private let fields: [String: String]
    private let decoded: (accept: String, fields: [String: String])
    private let anything: [String: String]

    /// - Parameter decoder: the client's, whose type most answers have.
    init(_ fields: [String: String], decoder: any ResponseDecoder) {
        self.fields = fields
        decoded = (decoder.contentType, fields.accepting(decoder.contentType).withRoom)
        anything = fields.accepting("*/*").withRoom
    }

    /// The fields with that `Accept`, unless the client is configured with one.
    func fields(accept type: String) -> [String: String] {
        switch type {
        case decoded.accept: decoded.fields
        case "*/*": anything
        default: fields.accepting(type)
        }
    }
}

extension PulseConfiguration {
    /// What every request has that does not set it itself, `Accept` apart.
    var headersOfEveryRequest: [String: String] {
        var fields = ["User-Agent": UserAgent.standard]
        fields["Accept-Language"] = AcceptLanguage.standard
        return fields.overridden(by: defaultHeaders)
    }
}

extension [String: String] {
    /// The fields with that `Accept`, unless they have one.
    func accepting(_ type: String) -> [String: String] {
        header("Accept") == nil ? merging(["Accept": type]) { own, _ in own } : self
    }

    /// The same with room for what plugins write: growing would hash all names again, in each request.
    fileprivate var withRoom: Self {
        var copy = self
        copy.reserveCapacity(count + 8)
        return copy
    }
}
