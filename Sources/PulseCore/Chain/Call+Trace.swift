// SPDX-License-Identifier: MIT

extension Call {
    /// The distributed trace that a plugin added the call to.
    package struct Trace: Sendable {
        package let high: UInt64
        package let low: UInt64
        package let isSampled: Bool
        /// The vendor-specific trace state (the `tracestate` header); nil for none.
        package let vendorState: String?
        /// The span of the app that the trace continues; nil for a new trace.
        package let parentSpan: UInt64?

        package init(high: UInt64, low: UInt64, isSampled: Bool, vendorState: String?, parentSpan: UInt64?) {
            self.high = high
            self.low = low
            self.isSampled = isSampled
            self.vendorState = vendorState
            self.parentSpan = parentSpan
        }

        // Built on demand: only events need it, and most calls have no listener.
        /// The trace's identifier: 32 hexadecimal digits in lower case.
        package var id: String {
            String(unsafeUninitializedCapacity: 32) { digits in
                digits.writeHex(high, at: 0)
                digits.writeHex(low, at: 16)
                return 32
            }
        }

        /// The parent span's identifier: 16 hexadecimal digits in lower case.
        package var parentSpanID: String? {
            parentSpan.map { span in
                String(unsafeUninitializedCapacity: 16) { digits in
                    digits.writeHex(span, at: 0)
                    return 16
                }
            }
        }
    }
}
