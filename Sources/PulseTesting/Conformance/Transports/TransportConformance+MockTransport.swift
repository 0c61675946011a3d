// SPDX-License-Identifier: MIT

import PulseCore

extension TransportConformance {
    /// The conformance of ``MockTransport``.
    package static let mockTransport = TransportConformance(
        simulated: "MockTransport",
        exclusions: [
            "a file arrives whole as the body": besideTheRequest,
            "a streamed body arrives whole, or is refused unsent": besideTheRequest,
            "a shutdown ends all that is under way":
                "answers are made in the caller's own task, which nobody else can cancel; later requests are refused",
        ], timeLimit: 60
    ) { respond in
        MockTransport(respond)
    }

    private static let besideTheRequest =
        "its closure gets a `URLRequest`, beside which file and stream bodies stand; `transportRequests` has them"
}
