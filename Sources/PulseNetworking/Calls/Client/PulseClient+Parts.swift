// SPDX-License-Identifier: MIT

import PulseCore

/// Options that require a plugin or another part of the client. Without it, a call whose safety depends on the option
/// fails. For all other options the client warns, once per option.
extension PulseClient {
    /// Warns about options that have no effect in this call. Throws ``PulseError/invalidRequest(reason:)`` for an
    /// option that the caller relies on.
    ///
    /// - Parameter options: the options of the call and its endpoint, without the configuration's.
    /// - Parameter isQueueable: whether the offline queue may store the call.
    func checkParts(
        _ options: RequestOptions, _ method: HTTPMethod, isQueueable: Bool, _ pipeline: PluginPipeline
    ) throws {
        if options.queuesBehindPending == true, !isQueueable, offline != nil, !method.isSafe {
            // The call would overtake the calls that it has to follow.
            throw PulseError.invalidRequest(
                reason: "queuesBehindPending needs an endpoint with isQueueableWhenOffline")
        }
        for text in optionsWithoutParts(options, isQueueable: isQueueable, pipeline) {
            environment.warnOnce(text)
        }
    }

    private func optionsWithoutParts(
        _ options: RequestOptions, isQueueable: Bool, _ pipeline: PluginPipeline
    ) -> [String] {
        var texts: [String] = []
        if let cache = options.cache, ![.default, .onlyIfCached, .bypass].contains(cache),
            !pipeline.has("com.pulse.cache")
        {
            texts.append("the option `cache` has no effect: the client has no cache plugin")
        }
        if options.coalesces == true, !pipeline.has("com.pulse.coalescing") {
            texts.append("the option `coalesces` has no effect: the client has no coalescing plugin")
        }
        if options.queuesBehindPending == true, offline == nil {
            texts.append("the option `queuesBehindPending` has no effect: the client has no offline queue")
        } else if options.queuesBehindPending == true, !isQueueable {
            texts.append("the option `queuesBehindPending` has no effect on a call that is not queueable when offline")
        }
        if options.waitsForConnectivity == true, !pipeline.has("com.pulse.retry") {
            texts.append(
                "the option `waitsForConnectivity` has no effect: a retry plugin of your own is in the loop's place")
        }
        if options.connectTimeout != nil, capabilities.contains(.noConnectTimeout) {
            texts.append(
                "the option `connectTimeout` has no effect: URLSessionTransport counts connecting as idle time")
        }
        #if !canImport(Darwin)
        texts += options.namesOfAppleOptions.map { "the option `\($0)` has no effect on this platform" }
        #endif
        return texts
    }
}

extension PluginPipeline {
    /// Whether a plugin with that identifier is installed: the library's own, or a replacement with the same
    /// identifier.
    fileprivate func has(_ identifier: String) -> Bool {
        plugins.contains { $0.identifier == identifier }
    }
}
