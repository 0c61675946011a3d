// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension TransportConformance {
    /// The conformance of ``MockTransport``.
    package static let mockTransport = TransportConformance(
        simulated: "MockTransport",
        exclusions: [
            "a file is sent as the body": hasNoBody,
            "a streamed body arrives whole or is refused unsent": hasNoBody,
            "a shutdown ends all requests in progress":
                "its responses are made in the caller's task, which the transport cannot cancel; later requests are refused",
        ], timeLimit: 600
    ) { respond in
        MockTransport(respond)
    }

    private static let hasNoBody =
        "its closure gets a `URLRequest`, which has no file and stream bodies; `transportRequests` has them"
}
